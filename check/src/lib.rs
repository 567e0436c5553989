//! A model checker for Rust closures, with the names of loom: each execution graph of RC11 once.
//!
//! This is a spike. The README says what it can do, and how it compares with loom.

pub mod alloc;
pub mod cell;
mod explore;
mod graph;
pub mod model;
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

/// Hints for loops that wait.
pub mod hint {
    /// Looks again, as [`yield_now`](crate::thread::yield_now) does.
    pub fn spin_loop() {
        crate::thread::yield_now();
    }
}
