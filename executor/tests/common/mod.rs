//! Helpers for the test programs: those of `joint`, and executors.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its part of it"
)]

#[path = "../../../tests/common/mod.rs"]
mod base;

use joint_executor::Executor;

pub(crate) use self::base::*;

/// An executor with that many workers. Under Miri it has one, because thieves use code of another
/// crate that Miri refuses.
pub(crate) fn executor(workers: usize) -> Executor {
    let workers = if cfg!(miri) { 1 } else { workers };
    let executor = Executor::builder().workers(workers).build();
    executor.expect("the threads can be started")
}
