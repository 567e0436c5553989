//! Tells a row that all its tasks have done their part, in the same few instructions for each
//! contestant.

use std::{
    future::poll_fn,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Release},
    },
    task::{Poll, Waker},
};

/// Counts down, and wakes one waiter at zero. Alone on its cache lines.
#[derive(Default)]
#[repr(align(128))]
pub struct Countdown {
    left: AtomicUsize,
    waiter: Mutex<Option<Waker>>,
}

impl Countdown {
    /// A countdown that stands at zero.
    pub const fn new() -> Self {
        Self {
            left: AtomicUsize::new(0),
            waiter: Mutex::new(None),
        }
    }

    /// Sets the count for the next run of a row.
    pub fn start(&self, count: usize) {
        self.left.store(count, Release);
    }

    /// Counts down by one. The call that reaches zero wakes the waiter.
    pub fn done(&self) {
        if self.left.fetch_sub(1, AcqRel) == 1 {
            let waiter = self.waiter.lock().expect("no panics").take();
            waiter.into_iter().for_each(Waker::wake);
        }
    }

    /// Waits until the count is zero. Only one task may wait.
    pub async fn over(&self) {
        poll_fn(|cx| {
            if self.left.load(Acquire) == 0 {
                return Poll::Ready(());
            }
            *self.waiter.lock().expect("no panics") = Some(cx.waker().clone());
            // Either the count is zero already, or the last task finds the waiter, because it takes
            // the lock after it has counted.
            match self.left.load(Acquire) {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }
}

/// Counts when it is dropped.
pub struct CountsDrop(
    /// The countdown that it counts down by one.
    pub &'static Countdown,
);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.done();
    }
}
