//! The sending end.

use core::{
    fmt,
    mem::ManuallyDrop,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr,
};

use super::block::Handle;
use crate::completion::Ended;

/// The end that sends. Dropped without sending, it closes: everyone who waits learns of it, and never hangs.
///
/// # Example
/// ```
/// use joint::shared::{self, Closed};
///
/// let (sender, shared) = shared::channel::<u32>();
/// drop(sender);
/// assert_eq!(joint::block_on(shared), Err(Closed));
/// ```
#[must_use = "dropping a sender without `send` tells those who wait that no value will come"]
pub struct Sender<T> {
    handle: Handle<T>,
}

// SAFETY: a value goes in here, and may be dropped here when nobody else holds the block. It is never looked at from here, so
// nothing more is asked of it than that it may change threads.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: by reference it only makes an atomic load.
unsafe impl<T: Send> Sync for Sender<T> {}

impl<T> Unpin for Sender<T> {}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Gives the handle to the sender, of which there is one.
    pub(super) fn new(handle: Handle<T>) -> Self {
        Self { handle }
    }

    /// Sends the value, and wakes everyone who waits for it, in no order that is promised.
    ///
    /// If every [`Shared`](super::Shared) has gone, the value is dropped.
    ///
    /// # Cost
    /// Two atomic read-modify-writes if nobody has waited; else three, one more for each place of a waiter, and the wake-ups.
    /// Wait-free beside those.
    ///
    /// # Panics
    /// With the first panic of a waiter's waker. The value has been sent then, and all the others are woken. (Without the feature
    /// `std`, a second such panic ends the program.) With the panic of the value's destructor, if it is dropped.
    ///
    /// # Example
    /// ```
    /// let (sender, shared) = joint::shared::channel();
    /// sender.send(1);
    /// assert_eq!(shared.get(), Some(&1));
    /// ```
    pub fn send(self, value: T) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the field of a sender that is neither used nor dropped after this.
        let handle = unsafe { ptr::read(&this.handle) };
        // SAFETY: this is the sender, consumed here, before the end.
        unsafe { handle.put(value) };
        // SAFETY: a sender finishes once: `self` is consumed and not dropped.
        unsafe { handle.waiters().end(Ended::Done) };
    }

    /// Whether every [`Shared`](super::Shared) has gone, so that nobody will learn of the value.
    ///
    /// `false` may be out of date at once; `true` stays true. One relaxed load: it orders nothing.
    ///
    /// # Example
    /// ```
    /// let (sender, shared) = joint::shared::channel::<u32>();
    /// assert!(!sender.is_closed());
    /// drop(shared);
    /// assert!(sender.is_closed());
    /// ```
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.handle.is_last()
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // SAFETY: a sender finishes once: `send` does not drop.
        unsafe { self.handle.waiters().end(Ended::Abandoned) };
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("is_closed", &self.is_closed())
            .finish()
    }
}
