//! Each thread's ring of tasks that are to run.

use std::{cell::UnsafeCell, collections::VecDeque, mem::ManuallyDrop};

use super::task::Runnable;

thread_local! {
    /// Never dropped, so that reaching it takes no look at whether it still exists.
    static RING: UnsafeCell<ManuallyDrop<VecDeque<Runnable>>> =
        const { UnsafeCell::new(ManuallyDrop::new(VecDeque::new())) };
}

#[inline]
pub(super) fn push(runnable: Runnable) {
    RING.with(|ring| {
        // SAFETY: only this thread has it, and neither function here calls other code.
        let ring = unsafe { &mut *ring.get() };
        ring.push_back(runnable);
    });
}

#[inline]
pub(super) fn pop() -> Option<Runnable> {
    RING.with(|ring| {
        // SAFETY: as above.
        let ring = unsafe { &mut *ring.get() };
        ring.pop_front()
    })
}
