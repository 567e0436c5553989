//! Timers through their public interface.
//!
//! No test asserts that something took no longer than a time: only that it was not early, or that
//! it came at all.
#![cfg(feature = "io")]

mod moved;
#[cfg(target_os = "linux")]
mod slack;
mod sleep;
mod timeout;
mod timer;

use crate::prelude::*;

/// Runs one poll of a future on a worker, so that what it arms belongs to that executor.
fn poll_on<F>(executor: &Executor, future: F, waker: &Waker) -> (F, Poll<F::Output>)
where
    F: Future + Unpin + Send + 'static,
    F::Output: Send + 'static,
{
    let (mut future, waker) = (future, waker.clone());
    joint::block_on(executor.spawn(async move {
        let polled = poll_with(&mut future, &waker);
        (future, polled)
    }))
}

/// A time that has passed.
fn past() -> Instant {
    let now = Instant::now();
    now.checked_sub(MILLI).unwrap_or(now)
}
