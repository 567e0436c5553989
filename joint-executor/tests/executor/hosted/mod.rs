//! Executors whose workers the tests drive: by steps, to the end, and task by task.
#![cfg(feature = "io")]

mod chosen;
mod current_thread;
mod driver;
mod hosts;
mod identity;
mod steps;

use crate::prelude::*;

fn hosted(workers: usize) -> (Executor, Vec<HostedWorker>) {
    let executor = Executor::builder().workers(workers).build_hosted();
    executor.expect("no thread is started")
}

/// An executor with one worker, which is bound to this thread.
fn bound() -> (Executor, BoundWorker) {
    bound_with(|builder| builder)
}

/// The same, with what else `set` asks for.
fn bound_with(set: impl FnOnce(Builder) -> Builder) -> (Executor, BoundWorker) {
    let executor = set(Executor::builder().workers(1)).build_hosted();
    let (executor, mut workers) = executor.expect("no thread is started");
    (executor, workers.remove(0).bind())
}

/// An executor whose workers are all bound to this thread.
fn all_bound(workers: usize) -> (Executor, Vec<BoundWorker>) {
    let (executor, workers) = hosted(workers);
    (
        executor,
        workers.into_iter().map(HostedWorker::bind).collect(),
    )
}

/// Steps a worker until it has nothing to run.
fn exhaust(worker: &mut BoundWorker) -> Step {
    exhaust_with(worker, Waker::noop())
}

/// The same, with that waker.
pub(crate) fn exhaust_with(worker: &mut BoundWorker, waker: &Waker) -> Step {
    loop {
        match worker.step(64, waker) {
            Step::Ready => {}
            other => return other,
        }
    }
}

fn current_thread() -> (Executor, BoundWorker) {
    (Executor::builder().build_current_thread()).expect("no thread is started")
}
