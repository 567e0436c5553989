//! The figures of the benches: how they are kept, and the tables that show them.
//!
//! A bench keeps each figure as a [line](Figure::line) of JSON in the file `NAME.jsonl` of a
//! folder. [`write()`] reads such files, and writes the tables.
//!
//! This is a package apart from the benches because `cargo xtask` uses it too, and must not compile
//! their peers.

mod curves;
mod figures;
mod page;
mod readme;

pub use curves::{Curve, Panel, curves};
pub use figures::{Figure, Moment, Place};
pub use readme::{MIMALLOC, write};
