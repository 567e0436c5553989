//! [`Admitting`]: which locks this thread is admitting requests to, further up its stack.
//!
//! A waker may give back the permits that it is woken for, as one does that drops its task. If that
//! admitted the next request by itself, a long queue would overflow the stack.

use std::cell::RefCell;

use joint_switch::thread_local;

thread_local! {
    /// The addresses of the locks.
    static LOCKS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Says that this thread is admitting requests to a lock, until it is dropped.
#[must_use]
pub(super) struct Admitting(());

impl Admitting {
    /// Returns whether this thread is doing so.
    pub(super) fn is_here(lock: usize) -> bool {
        // A thread that has destroyed its thread-locals pays with its stack.
        let is_here = LOCKS.try_with(|locks| locks.borrow().contains(&lock));
        is_here.unwrap_or(false)
    }

    pub(super) fn begin(lock: usize) -> Self {
        let _ = LOCKS.try_with(|locks| locks.borrow_mut().push(lock));
        Self(())
    }
}

impl Drop for Admitting {
    fn drop(&mut self) {
        // Calls are nested, so the last one is this one's.
        let _ = LOCKS.try_with(|locks| locks.borrow_mut().pop());
    }
}
