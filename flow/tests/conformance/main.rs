//! FoundationDB's own unit tests of Flow, as tests of this package.
//!
//! Each test says by `Flow:` which test of FoundationDB it is the counterpart of, and by `Differs:`
//! where it demands something else, and why. `tests/tables.rs` knows the names of all, and those
//! that have no counterpart here. Tests on one thread run under `joint_sim::check`.
#![allow(unreachable_pub, reason = "the modules are one program")]

mod actor;
mod cancel;
mod choose;
mod cleanup;
mod collection;
mod collection_cancel;
#[path = "../pieces/common.rs"]
mod common;
mod errors;
mod generator;
mod generic;
mod get_all;
mod lock;
mod promise;
mod quorum;
mod race;
mod released;
mod results;
mod stream;
mod threads;
mod variable;
mod yielded;

use joint_flow::{Task, promise::never, spawn};

use crate::common::settled;

/// Holds a value until it is dropped.
async fn holding<T, U>(held: T) -> U {
    let _held = held;
    never().await
}

/// Spawns a task that holds the value, and waits until it is suspended.
async fn suspended<T: Send + 'static>(held: T) -> Task<()> {
    let task = spawn(holding(held));
    settled().await;
    task
}
