//! The figures of the benches: how they are kept, and the tables that show them.
//!
//! A bench keeps each figure as a [line](Figure::line) of JSON in the file `NAME.jsonl` of a
//! folder. [`write()`] reads such files, and writes the tables.
//!
//! This is a package apart from the benches because `cargo xtask` uses it too, and must not compile
//! their peers.

mod figures;
mod pages;

pub use figures::{Figure, Place};
pub use pages::{MIMALLOC, write};
