//! Simulation, through the public interface.

mod attack;
mod blocking;
mod bugs;
mod check;
mod clocks;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod disk;
mod drawn;
mod faults;
mod found;
mod hosts;
mod interleaving;
mod net;
mod night;
mod own;
mod panics;
mod parallel;
mod pauses;
mod schedulers;
mod snoozing;
mod stuck;
mod swarm;
mod trace;
mod unchanged;
mod unfinished;
mod world;
