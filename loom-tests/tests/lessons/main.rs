//! The lessons of `docs/lessons`: the models that they show, each exercise broken and solved, the
//! code that they quote, and their pictures.
//!
//! To work on an exercise, change its broken form here until its test says that the model passes.
#![cfg(joint_loom)]

mod branch;
mod exchange;
mod halves;
mod handshake;
mod join;
mod leaving;
mod mutex;
mod pictures;
mod quotes;
mod race;
mod sentinels;
mod seq_cst;
