//! The example `treehash`, run as its user runs it, against a plain single-threaded reference.
#![cfg(not(miri))]

mod command_line;
mod digest;
mod program;
mod reference;
mod scratch;
mod totals;
#[cfg(unix)]
mod unix;

const MIB: usize = 1 << 20;
