//! The lessons of `course/lessons`: the models that they show, their exercises, the code that they
//! quote, and their pictures.
//!
//! To work on an exercise, change its broken form here until `cargo run -p course -- lesson N` in
//! `verify` says that it is solved. The solutions are in `solutions`, each beside repairs that are
//! wrong.
//!
//! They run on joint-check alone.

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
mod word;
mod worker;

/// From the folder in which cargo runs the tests.
const PICTURES: &str = "../lessons/pictures";
