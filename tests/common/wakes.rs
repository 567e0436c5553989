//! A waker that counts, and one that acts.

use std::{
    sync::{
        Arc, Mutex,
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

/// A waker that acts when it is woken, once. If it never is, the last clone drops the function.
pub(crate) fn waker_that(act: impl FnOnce() + Send + 'static) -> Waker {
    struct Acts(Mutex<Option<Box<dyn FnOnce() + Send>>>);
    impl Wake for Acts {
        fn wake(self: Arc<Self>) {
            let act = self.0.lock().unwrap().take();
            if let Some(act) = act {
                act();
            }
        }
    }
    Waker::from(Arc::new(Acts(Mutex::new(Some(Box::new(act))))))
}
