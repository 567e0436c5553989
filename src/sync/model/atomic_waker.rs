//! [`AtomicWaker`] with a lock in the place of the real one.

use super::{Mutex, MutexGuard};

/// The last of those who wait, with the edges of the real one: it is registered before the wakers are taken, or after, and then by who sees
/// what the taker did before.
#[derive(Debug)]
pub(crate) struct AtomicWaker(Mutex<Option<core::task::Waker>>);

impl AtomicWaker {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    pub(crate) fn register(&self, waker: &core::task::Waker) {
        let before = self.lock().replace(waker.clone());
        drop(before);
    }

    pub(crate) fn take(&self) -> Option<core::task::Waker> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<core::task::Waker>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
