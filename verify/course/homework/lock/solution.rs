//! A lock.

use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, Ordering},
};

pub struct Lock(AtomicBool);

impl Lock {
    pub fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Waits until nobody has the lock, and takes it.
    pub fn lock(&self) {
        while !self.try_lock() {
            spin_loop();
        }
    }

    /// Takes the lock if nobody has it, and returns whether it did.
    pub fn try_lock(&self) -> bool {
        let taken = self
            .0
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Gives the lock back.
    pub fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}
