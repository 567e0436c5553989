//! A counted reference. Make it right.

use std::{ops::Deref, ptr::NonNull};

use loom::sync::atomic::{AtomicUsize, Ordering};

pub struct Arc<T>(NonNull<Inner<T>>);

struct Inner<T> {
    count: AtomicUsize,
    value: T,
}

// SAFETY: the value is shared, and the last handle drops it, on any thread.
unsafe impl<T: Send + Sync> Send for Arc<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Send + Sync> Sync for Arc<T> {}

impl<T> Arc<T> {
    pub fn new(value: T) -> Self {
        let count = AtomicUsize::new(1);
        Self(NonNull::from(Box::leak(Box::new(Inner { count, value }))))
    }

    /// Returns the value to write to, if this is the only handle.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if this.inner().count.load(Ordering::Relaxed) != 1 {
            return None;
        }
        // SAFETY: there is no other handle.
        Some(unsafe { &mut this.0.as_mut().value })
    }

    fn inner(&self) -> &Inner<T> {
        // SAFETY: it is alive as long as there is a handle.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        self.inner().count.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        if self.inner().count.fetch_sub(1, Ordering::Relaxed) == 1 {
            // SAFETY: this was the last handle.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}
