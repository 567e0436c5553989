//! A waker that counts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Wake, Waker},
};

/// A waker that counts its wake-ups, and how many of it there are.
#[derive(Debug, Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// How many wakers, and clones of them, are alive.
    pub(crate) fn wakers(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A waker that counts, and its other side.
pub(crate) fn counting() -> (Arc<Wakes>, Waker) {
    let wakes = Wakes::new();
    let waker = wakes.waker();
    (wakes, waker)
}
