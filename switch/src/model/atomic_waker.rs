//! [`AtomicWaker`]: a replacement of the real one that uses a lock.

use super::{Mutex, MutexGuard};

/// The waker that was registered last, with the happens-before edges of the real type: a waker is
/// registered before it is taken, or else its registration sees what the taker did before.
#[derive(Debug)]
pub struct AtomicWaker(Mutex<Option<core::task::Waker>>);

impl AtomicWaker {
    pub fn new() -> Self {
        Self(Mutex::new(None))
    }

    pub fn register(&self, waker: &core::task::Waker) {
        let before = self.lock().replace(waker.clone());
        drop(before);
    }

    pub fn take(&self) -> Option<core::task::Waker> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<core::task::Waker>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
