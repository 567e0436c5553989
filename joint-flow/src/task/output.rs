//! [`Output`]: the output of a task, which all handles may read and the only handle may take.

use std::panic::RefUnwindSafe;

use joint_switch::{Retire, UnsafeCell};

/// It is `None` only after it was taken, when nobody can read it any more.
pub(super) struct Output<T>(UnsafeCell<Option<T>>);

// SAFETY: all threads may read it, and one of them takes it, when no other can use it.
unsafe impl<T: Send + Sync> Sync for Output<T> {}

// By reference it gives only the output.
impl<T: RefUnwindSafe> RefUnwindSafe for Output<T> {}

impl<T> Output<T> {
    pub(super) fn new(output: T) -> Self {
        Self(UnsafeCell::new(Some(output)))
    }

    pub(super) fn get(&self) -> &T {
        // SAFETY: it is not taken while anybody can read it (`take`).
        let output = self.0.with(|output| unsafe { &*output });
        output.as_ref().expect("it is taken last")
    }

    /// # Safety
    /// Nobody else uses this any more, on any thread, but to drop it, and no reference of `get` is
    /// left.
    pub(super) unsafe fn take(&self) -> Option<T> {
        // SAFETY: by the contract, nobody else uses it.
        self.0.with_mut(|output| unsafe { (*output).take() })
    }
}

impl<T: Clone> Clone for Output<T> {
    fn clone(&self) -> Self {
        Self::new(self.get().clone())
    }
}

impl<T> Drop for Output<T> {
    fn drop(&mut self) {
        self.0.retire();
    }
}
