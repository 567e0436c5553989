//! [`Canceller`]: the right of a task's handles to cancel its future. The last one that is dropped
//! does it.
//!
//! The handles are counted in the cell, and have one reference to it together.

use std::{ops::Deref, process::abort, ptr::NonNull};

use super::{
    cell::Cancel,
    nesting::{Idle, Reference},
    state::Cancelled,
};

/// A handle of a cell. Dropping the last one cancels the future.
pub(crate) struct Canceller {
    /// It is alive, because the handles' reference is given up with the last of them.
    cell: NonNull<dyn Cancel>,
}

// SAFETY: a cell may be used and freed by any thread, or its handles drop the future through its
// task, and a handle of `Task` is sent only if its output may be.
unsafe impl Send for Canceller {}
// SAFETY: as above.
unsafe impl Sync for Canceller {}

impl Canceller {
    /// Creates the canceller of the first handle.
    ///
    /// # Safety
    /// The caller gives this the handles' one reference to the cell.
    pub(super) unsafe fn first(cell: NonNull<dyn Cancel>) -> Self {
        Self { cell }
    }

    /// Returns whether there is no other handle.
    pub(super) fn is_last(&self) -> bool {
        self.head().handles.are_last()
    }
}

impl Deref for Canceller {
    type Target = dyn Cancel;

    fn deref(&self) -> &Self::Target {
        // SAFETY: it is alive (see the field).
        unsafe { self.cell.as_ref() }
    }
}

impl Clone for Canceller {
    fn clone(&self) -> Self {
        if !self.head().handles.enter() {
            abort();
        }
        Self { cell: self.cell }
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        if self.head().handles.leave() {
            // It is given up after the cancellation, also if a destructor panics.
            let reference = Reference(self.cell);
            if self.head().request() == Cancelled::DropFuture {
                // SAFETY: the state says so.
                unsafe { Idle::new(reference) }.cancel();
            }
        }
    }
}
