//! The sending end.

use std::{
    mem::ManuallyDrop,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr,
};

use super::block::Handle;

/// The sending end. If it is dropped without sending, every waiter ends with an error instead of
/// hanging.
///
/// # Example
/// ```
/// use joint_flow::shared::{self, Closed};
///
/// let (sender, shared) = shared::channel::<u32>();
/// drop(sender);
/// assert_eq!(joint::block_on(shared), Err(Closed));
/// ```
///
/// A sender is not turned into one of a shorter lifetime, which its waiters would not know of:
/// ```compile_fail
/// use joint_flow::shared::Sender;
///
/// fn shorten<'a>(sender: Sender<&'static str>) -> Sender<&'a str> {
///     sender
/// }
/// ```
#[must_use = "dropping a sender without `send` tells the waiters that no value will come"]
pub struct Sender<T> {
    handle: Handle<T>,
}

// SAFETY: the sender writes the value, and may drop it if it holds the last reference. It never
// reads the value by reference, so the value need only be `Send`.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: a reference to a sender only makes an atomic load.
unsafe impl<T: Send> Sync for Sender<T> {}

impl<T> Unpin for Sender<T> {}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Creates the one sender of the handle's block.
    pub(super) fn new(handle: Handle<T>) -> Self {
        Self { handle }
    }

    /// Sends the value, and wakes all waiters, in no particular order.
    ///
    /// If every [`Shared`](super::Shared) was dropped, the value is dropped.
    ///
    /// # Cost
    /// Two atomic read-modify-writes if there were no waiters, three if only the first handle of
    /// the channel waits, and otherwise three and one for each place of a waiter. One less if every
    /// `Shared` was dropped. The wake-ups come on top. Wait-free apart from those.
    ///
    /// # Panics
    /// If a waiter's waker panics, the first such panic passes through after the value has been
    /// sent and all other waiters have been woken. If the value is dropped and its destructor
    /// panics, that panic passes through.
    ///
    /// # Example
    /// ```
    /// let (sender, shared) = joint_flow::shared::channel();
    /// sender.send(1);
    /// assert_eq!(shared.get(), Some(&1));
    /// ```
    pub fn send(self, value: T) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the field of a sender that is neither used nor dropped after this.
        let handle = unsafe { ptr::read(&this.handle) };
        // SAFETY: this is the sender, which is consumed here and not dropped.
        unsafe { handle.awaited().send(value) };
    }

    /// Returns whether every [`Shared`](super::Shared) was dropped, so that no waiter is left for
    /// the value.
    ///
    /// `false` may be outdated at once, while `true` is final. This is one relaxed load, which
    /// orders nothing.
    ///
    /// # Example
    /// ```
    /// let (sender, shared) = joint_flow::shared::channel::<u32>();
    /// assert!(!sender.is_closed());
    /// drop(shared);
    /// assert!(sender.is_closed());
    /// ```
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.handle.references().seem_last()
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let is_unused = self.handle.references().are_last();
        // SAFETY: a sender finishes once: `send` does not drop.
        unsafe { self.handle.awaited().abandon(is_unused) };
    }
}

debug!(<T> Sender<T>, |it| is_closed: it.is_closed());
