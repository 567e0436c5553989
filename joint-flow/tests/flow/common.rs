//! Helpers for the tests of several pieces.

#![allow(
    dead_code,
    unused_imports,
    reason = "the programs that share it do not use everything"
)]

#[path = "../../../tests/common/mod.rs"]
mod base;

use crate::prelude::*;

pub(crate) use self::base::{
    Unwound, Wakes, counting, in_process, on_drop, panic_text, panicking, poll_with, program,
    waker_that,
};

/// Runs a program under a hundred seeds and all faults.
pub(crate) fn check<F: Future<Output = ()> + 'static>(program: impl Fn() -> F) {
    // Boxed, so that the check is compiled once for all programs.
    check_boxed(&|| Box::pin(program()));
}

fn check_boxed(program: &dyn Fn() -> Pin<Box<dyn Future<Output = ()>>>) {
    // Some tasks panic on purpose, and only asking for the error does not count as a look.
    let check = joint_sim::Check::new()
        .seeds(100)
        .panics(joint_sim::Panics::Detached);
    check.run(program);
}

/// The events of a test, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Returns a value that adds a line when it is dropped.
    pub(crate) fn on_drop(&self, what: impl Into<String>) -> OnDrop {
        OnDrop {
            log: self.clone(),
            what: what.into(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct OnDrop {
    log: Log,
    what: String,
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.log.add(&self.what);
    }
}

/// Returns a value that counts its drop.
pub(crate) fn counted(count: &Arc<AtomicUsize>) -> impl Send + use<> {
    let count = count.clone();
    on_drop(move || _ = count.fetch_add(1, Relaxed))
}

/// Is pending so many polls, and then ready with the value. It wakes itself.
pub(crate) async fn after<T>(polls: usize, value: T) -> T {
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    value
}

/// Holds a value until it is dropped.
pub(crate) async fn holding<T, U>(held: T) -> U {
    let _held = held;
    never().await
}

/// Waits for each task in turn.
pub(crate) async fn join(tasks: impl IntoIterator<Item: Future>) {
    for task in tasks {
        task.await;
    }
}

/// An executor with one worker.
pub(crate) fn one_worker() -> Executor {
    Executor::builder().workers(1).build().unwrap()
}

/// Waits until everything that can happen has happened: an hour of the simulation.
pub(crate) async fn settled() {
    joint_executor::time::sleep(std::time::Duration::from_secs(3600)).await;
}

/// A value whose destructor panics, without a message on the standard error.
pub(crate) struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        resume_unwind(Box::new("destructor"));
    }
}
