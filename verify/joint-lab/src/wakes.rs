//! A waker that counts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Wake, Waker},
};

use super::cell::UnsafeCell;

/// Makes wakers, and counts their wake-ups.
///
/// The counts are not atomics of the model, so they make no edges that could hide a missing one.
/// `new` writes a cell, and each wake-up reads it. A wake-up that the call of `new` does not happen
/// before is therefore a race, which the model reports. So call `new` on the thread that waits.
#[derive(Debug)]
pub struct Wakes {
    count: AtomicUsize,
    made: UnsafeCell<()>,
}

// SAFETY: the cell holds nothing, and is only read.
unsafe impl Send for Wakes {}
// SAFETY: as for `Send`.
unsafe impl Sync for Wakes {}

impl Wakes {
    /// Starts with no wake-ups.
    #[allow(
        clippy::new_without_default,
        reason = "the thread that calls it matters"
    )]
    #[track_caller]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            count: AtomicUsize::new(0),
            made: UnsafeCell::new(()).named("waker"),
        })
    }

    /// Returns a waker that counts here. To an executor it is an unknown waker.
    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    /// Returns how many wake-ups there were.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Returns how many of its wakers, clones included, are alive.
    pub fn wakers(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.made.with(|_| ());
        self.count.fetch_add(1, Relaxed);
    }
}
