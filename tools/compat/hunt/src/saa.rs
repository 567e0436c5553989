//! saa 5.6.2: its lock and its semaphore, with guards, which they leave to others.

use std::sync::atomic::Ordering::Relaxed;

use crate::{
    lock::{exclusion, lock},
    semaphore::{cancelled_head, conservation, semaphore},
    world::programs,
};
use saa::{Lock, Semaphore};

programs![
    exclusion::<Lock>,
    conservation::<Semaphore>,
    cancelled_head::<Semaphore>,
];

/// Releases what was acquired.
struct Guard<F: FnMut() -> bool>(F);

impl<F: FnMut() -> bool> Drop for Guard<F> {
    fn drop(&mut self) {
        assert!((self.0)(), "it was not held");
    }
}

lock! {
    Lock:
    new Lock::new();
    lock(self) {
        assert!(self.lock_async().await);
        Guard(|| self.release_lock())
    };
    share(self) {
        assert!(self.share_async().await);
        Guard(|| self.release_share())
    };
    is_free(self) self.try_lock().is_ok();
}

semaphore! {
    Semaphore;
    new(permits) Semaphore::with_permits(permits);
    acquire(self, permits) {
        assert!(self.acquire_many_async(permits).await);
        Guard(move || self.release_many(permits))
    };
    available(self) self.available_permits(Relaxed);
}
