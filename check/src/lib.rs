//! A model checker for Rust closures, with the names of loom: each execution graph of RC11 once.
//!
//! This is a spike. The README says what it can do, and how it compares with loom.

pub mod alloc;
pub mod cell;
mod explore;
pub mod future;
mod graph;
pub mod hint;
pub mod lazy_static;
pub mod model;
mod pool;
mod run;
mod sc;
pub mod sync;
pub mod thread;

pub use graph::MAX_THREADS;
pub use model::model;

/// Does nothing: every operation is explored. For models that are written for loom.
pub fn explore() {}

/// Does nothing: every operation is explored. For models that are written for loom.
pub fn stop_exploring() {}

/// Does nothing: every operation is explored. For models that are written for loom.
pub fn skip_branch() {}
