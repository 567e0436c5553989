//! Who wakes a task of an executor from elsewhere, for models of the executor's end.

use crate::{executor::visitors, sync::Retire};

/// The executor's own, with two rooms.
#[allow(missing_debug_implementations, reason = "nothing to show")]
pub struct Visitors(visitors::Visitors);

#[allow(missing_docs, reason = "forwarded as it is")]
#[allow(clippy::new_without_default, reason = "forwarded as it is")]
impl Visitors {
    pub fn new() -> Self {
        Self(visitors::Visitors::new(2))
    }

    pub fn enter(&self, room: usize) -> bool {
        self.0.enter(room)
    }

    /// # Safety
    /// As that of the executor's own.
    pub unsafe fn leave(this: *const Self, room: usize) -> bool {
        // SAFETY: alive, by this function's contract.
        let visitors = unsafe { &raw const (*this).0 };
        // SAFETY: passed on from the caller.
        unsafe { visitors::Visitors::leave(visitors, room) }
    }

    pub fn close(&self) -> bool {
        self.0.close()
    }

    /// Its memory is about to go.
    pub fn retire(&mut self) {
        self.0.retire();
    }
}
