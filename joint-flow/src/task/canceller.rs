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
use joint_switch::{AtomicUsize, Retire, order};

/// The number of handles from which on one more ends the program, as for `Arc`.
const MOST: usize = isize::MAX as usize;

/// The handles of one cell.
#[derive(Debug)]
pub(crate) struct Handles(AtomicUsize);

impl Handles {
    /// Counts the first handle.
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(1))
    }

    fn enter(&self) {
        // ORDERING: enter. Relaxed: the handle that is cloned is counted, so this is not the last.
        if self.0.fetch_add(1, order!(enter: Relaxed)) > MOST {
            abort();
        }
    }

    /// Returns whether there is no other handle than the caller's.
    fn is_last(&self) -> bool {
        // ORDERING: last. Acquire, with the Release of `leave` on other threads: what was done with
        // their handles happens before the destructors of the future, and before the output is
        // taken. Nobody else can add one.
        self.0.load(order!(last: Acquire)) == 1
    }

    /// Returns whether this was the last one.
    fn leave(&self) -> bool {
        if self.is_last() {
            return true;
        }
        // ORDERING: leave. Release: what this thread did with its handle happens before the
        // destructors of the future (`last`, and the `leave` that is the last). Acquire: if this is
        // the last, what the others did happens before them as well.
        self.0.fetch_sub(1, order!(leave: AcqRel)) == 1
    }

    /// Makes the last access before the memory is freed.
    pub(super) fn retire(&mut self) {
        self.0.retire();
    }
}

/// A handle of a cell. Dropping the last one cancels the future.
pub(crate) struct Canceller {
    /// It is alive, because the handles' reference is given up with the last of them.
    cell: NonNull<dyn Cancel>,
}

// SAFETY: a cell may be used and freed by any thread: `Cancel` is `Send` and `Sync`.
unsafe impl Send for Canceller {}
// SAFETY: as above.
unsafe impl Sync for Canceller {}

impl Canceller {
    /// Creates the canceller of the first handle.
    ///
    /// # Safety
    /// The caller gives this the handles' one reference to the cell, which came from a box.
    pub(super) unsafe fn first(cell: NonNull<dyn Cancel>) -> Self {
        Self { cell }
    }

    /// Returns whether there is no other handle.
    pub(super) fn is_last(&self) -> bool {
        self.handles().is_last()
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
        self.handles().enter();
        Self { cell: self.cell }
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        if self.handles().leave() {
            // It is given up after the cancellation, also if a destructor panics.
            let reference = Reference(self.cell);
            if self.state().cancel() == Cancelled::DropFuture {
                // SAFETY: the state says so.
                unsafe { Idle::new(reference) }.cancel();
            }
        }
    }
}
