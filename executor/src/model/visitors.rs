//! The threads that wake a task of an executor from another thread, for models of the executor's
//! end.

use crate::visitors::{self, Hold};
use joint_switch::Retire;

/// The executor's visitors, with two rooms.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Visitors(visitors::Visitors);

#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
impl Visitors {
    pub fn new() -> Self {
        Self(visitors::Visitors::new(2))
    }

    /// Returns whether the caller is inside.
    pub fn enter(&self, room: usize) -> bool {
        self.0.enter(room).is_some()
    }

    /// Returns whether the caller is to release the hold.
    ///
    /// # Safety
    /// As for the executor's visitors.
    pub unsafe fn leave(this: *const Self, room: usize) -> bool {
        // SAFETY: alive, by this function's contract.
        let visitors = unsafe { &raw const (*this).0 };
        // SAFETY: the caller promises it.
        unsafe { visitors::Visitors::leave(visitors, room) == Hold::Callers }
    }

    /// Returns whether visitors are inside, so that the hold is theirs.
    pub fn close(&self) -> bool {
        self.0.close() == Hold::Others
    }

    /// Checks that nothing is in use any more, before the memory goes away.
    pub fn retire(&mut self) {
        self.0.retire();
    }
}
