//! The examples `fizz_buzz`, `timers`, `echo`, `main_loop` and `trace`, run as their user runs
//! them. What they print is compared byte for byte, where it does not depend on the machine's
//! speed.
#![cfg(all(feature = "io", not(miri)))]

#[cfg(unix)]
mod child;
mod command_line;
mod echo;
mod fizz_buzz;
mod main_loop;
mod output;
#[path = "../../common/program.rs"]
mod program;
mod timers;
mod trace;

/// How many workers the examples run on here: what is printed must not tell.
const WORKERS: [&str; 3] = ["1", "2", "4"];
