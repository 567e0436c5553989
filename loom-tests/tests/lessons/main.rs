//! The lessons of `verify/course/lessons`: the models that they show, their exercises, the code that they
//! quote, and their pictures.
//!
//! To work on an exercise, change its broken form here until `cargo xtask lesson N` says that it is
//! solved. The solutions are in `solutions`, each beside repairs that are wrong.
//!
//! They run on joint-check alone. loom takes `SeqCst` accesses for weaker ones, and would refuse
//! repairs that are right.
#![cfg(all(joint_loom, joint_check))]

mod branch;
mod compare;
mod exchange;
mod exercise;
mod halves;
mod handshake;
mod join;
mod kernel;
mod leaving;
mod mutex;
mod pictures;
mod quotes;
mod race;
mod sentinels;
mod seq_cst;
mod worker;
