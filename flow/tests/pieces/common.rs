//! What the tests of several pieces use.

use std::{
    future::{Future, poll_fn},
    sync::{Arc, Mutex},
    task::Poll,
};

/// Runs a program under some hundred seeds and all faults.
pub(crate) fn check<F: Future<Output = ()> + 'static>(program: impl Fn() -> F) {
    joint::sim::check(program);
}

/// What has happened, in order.
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

/// Waits until everything that can happen has happened: an hour of the simulation.
pub(crate) async fn settled() {
    joint::time::sleep(std::time::Duration::from_secs(3600)).await;
}
