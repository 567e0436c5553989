//! How a row learns that all its tasks have done their part: the same few instructions for each contestant.

use std::{
    future::poll_fn,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Release},
    },
    task::{Poll, Waker},
};

/// Counts down, and wakes one waiter at zero. Alone on its cache lines.
#[repr(align(128))]
pub(crate) struct Countdown {
    left: AtomicUsize,
    waiter: Mutex<Option<Waker>>,
}

impl Countdown {
    pub(crate) const fn new() -> Self {
        Self {
            left: AtomicUsize::new(0),
            waiter: Mutex::new(None),
        }
    }

    /// For the next run of a row.
    pub(crate) fn start(&self, count: usize) {
        self.left.store(count, Release);
    }

    /// One less.
    pub(crate) fn done(&self) {
        if self.left.fetch_sub(1, AcqRel) == 1 {
            let waiter = self.waiter.lock().expect("no panics").take();
            waiter.into_iter().for_each(Waker::wake);
        }
    }

    /// Until zero.
    pub(crate) async fn over(&self) {
        poll_fn(|cx| {
            if self.left.load(Acquire) == 0 {
                return Poll::Ready(());
            }
            *self.waiter.lock().expect("no panics") = Some(cx.waker().clone());
            // The last one came before or finds the waiter: it takes the lock after it has counted.
            match self.left.load(Acquire) {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }
}

/// Counts when it is dropped.
pub(crate) struct CountsDrop(pub(crate) &'static Countdown);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.done();
    }
}
