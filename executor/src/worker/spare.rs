//! [`Spare`]: references to its own timers that a worker passes on from timer to timer.
//!
//! Each armed timer has a reference to the queue that it is in, because it may outlive the
//! executor. Making and dropping a reference changes a count, and takes an atomic read-modify-write
//! each. A worker therefore keeps the references of timers that end there, for those that it arms
//! next.

use alloc::sync::Arc;
use core::{cell::Cell, ptr};

use crate::driver::timers::Timers;

/// The largest number of references that are kept.
pub(super) const MOST: usize = 1024;

pub(super) struct Spare {
    /// The address inside the `Arc`, or null if no reference was ever kept.
    timers: Cell<*const Timers>,
    /// The number of owned references to it.
    count: Cell<usize>,
}

// SAFETY: it owns references, which are `Send`.
unsafe impl Send for Spare where Arc<Timers>: Send {}

impl Default for Spare {
    fn default() -> Self {
        Self {
            timers: Cell::new(ptr::null()),
            count: Cell::new(0),
        }
    }
}

impl Spare {
    /// Returns a reference that was kept, if there is one.
    #[inline]
    pub(super) fn take(&self) -> Option<Arc<Timers>> {
        let left = self.count.get().checked_sub(1)?;
        self.count.set(left);
        // SAFETY: the address came from `into_raw`. The reference was counted, and no longer is.
        Some(unsafe { Arc::from_raw(self.timers.get()) })
    }

    /// Keeps a reference, unless there are enough, or those that are kept are to another queue.
    #[inline]
    pub(super) fn keep(&self, timers: Arc<Timers>) {
        let count = self.count.get();
        if count == 0 || count < MOST && self.timers.get() == Arc::as_ptr(&timers) {
            self.timers.set(Arc::into_raw(timers));
            self.count.set(count + 1);
        }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        while let Some(timers) = self.take() {
            drop(timers);
        }
    }
}
