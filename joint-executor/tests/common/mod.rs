//! Helpers for the test programs: those of `joint`, and executors.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its part of it"
)]

#[path = "../../../tests/common/mod.rs"]
mod base;
mod guards;

use std::{future::pending, time::Duration};

use joint_executor::{Builder, Executor, JoinHandle, block_on};

pub(crate) use self::{
    base::*,
    guards::{Guard, Guards},
};

pub(crate) const MILLI: Duration = Duration::from_millis(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// An executor with that many workers. Under Miri it has one, because thieves use code of another
/// crate that Miri refuses.
pub(crate) fn executor(workers: usize) -> Executor {
    let workers = if cfg!(miri) { 1 } else { workers };
    let executor = Executor::builder().workers(workers).build();
    executor.expect("the threads can be started")
}

/// An executor with that many workers, and what else `set` asks for.
pub(crate) fn built(workers: usize, set: impl FnOnce(Builder) -> Builder) -> Executor {
    let executor = set(Executor::builder().workers(workers)).build();
    executor.expect("the threads can be started")
}

/// Runs a test's function in a process of its own, which runs that test alone.
pub(crate) fn alone<F: FnOnce()>(function: F) {
    in_process(|_| {}, function);
}

/// Holds a value forever.
pub(crate) async fn hold<T>(_held: T) {
    pending().await
}

#[track_caller]
pub(crate) fn assert_cancelled<T>(task: JoinHandle<T>) {
    let error = block_on(task.result()).err();
    assert!(error.is_some_and(|error| error.is_cancelled()));
}

#[track_caller]
pub(crate) fn assert_contains(text: impl ToString, part: &str) {
    let text = text.to_string();
    assert!(text.contains(part), "{text:?} lacks {part:?}");
}
