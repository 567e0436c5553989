//! One module for each piece. Every test runs its program under `joint_sim::check`: some
//! hundred seeds, in the scheduler's strategies in turn, with all faults.
#![allow(unreachable_pub, reason = "the modules are one program")]

mod cancellation;
mod choice;
mod collection;
mod combinators;
mod fairness;
mod generator;
mod handles;
mod interleaving;
mod lock;
mod quorum;
mod race;
mod retry;
mod stream;
mod time;
mod variable;
mod workers;
