//! FoundationDB's own unit tests of Flow, as tests of this package: those that demand more than the
//! tests in `../pieces`, of which many are counterparts as well.
//! `docs/flow.md` says which of ours are the counterparts of each of theirs. Tests on one thread run
//! under `joint_sim::check`.
#![allow(unreachable_pub, reason = "the modules are one program")]

mod actor;
mod cancel;
mod cleanup;
mod collection;
mod collection_cancel;
mod errors;
mod generator;
mod generic;
mod lock;
mod promise;
mod race;
mod released;
mod results;
mod threads;
mod variable;
mod yielded;

use joint_flow::{Task, spawn};

use crate::common::{holding, settled};

/// Spawns a task that holds the value, and waits until it is suspended.
async fn suspended<T: Send + 'static>(held: T) -> Task<()> {
    let task = spawn(holding(held));
    settled().await;
    task
}
