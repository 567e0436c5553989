//! Timers through their public interface.
//!
//! No test asserts that something took no longer than a time: only that it was not early, or that it came at all.
#![cfg(feature = "io")]

mod blocked;
mod faults;
mod interval;
mod moved;
mod sleep;
mod timeout;
mod timer;

#[path = "../support/wakes.rs"]
mod wakes;

use std::{
    future::Future,
    pin::Pin,
    sync::mpsc::{self, RecvTimeoutError},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use joint::Executor;

fn executor(workers: usize) -> Executor {
    Executor::builder().workers(workers).build().unwrap()
}

const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Runs a test that waits, and ends it when it has waited for too long.
#[track_caller]
fn ends<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = test();
        let _ = sender.send(());
        result
    });
    match receiver.recv_timeout(Duration::from_secs(120)) {
        Err(RecvTimeoutError::Timeout) => panic!("this waits for what does not come"),
        // The thread has ended, or is about to.
        Ok(()) | Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}

fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

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
