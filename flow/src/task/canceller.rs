//! [`Canceller`]: the right of a task's handles to cancel its future. The last one that is dropped
//! does it.
//!
//! The handles are counted in the cell, and have one reference to it together. An `Arc` of its own
//! for what cancels would be one more allocation for each task.

use std::{mem::ManuallyDrop, ops::Deref, process::abort, ptr, sync::Arc};

use super::cell::Cancel;
use crate::sync::{AtomicUsize, order};

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

    /// Returns whether this was the last one.
    fn leave(&self) -> bool {
        // ORDERING: last. Acquire, with the Release of `leave` on other threads: what was done with
        // their handles happens before the destructors of the future. Nobody else can add one.
        if self.0.load(order!(last: Acquire)) == 1 {
            return true;
        }
        // ORDERING: leave. Release: what this thread did with its handle happens before the
        // destructors of the future (`last`, and the `leave` that is the last). Acquire: if this is
        // the last, what the others did happens before them as well.
        self.0.fetch_sub(1, order!(leave: AcqRel)) == 1
    }
}

pub(super) struct Canceller {
    /// A copy of the one reference that all handles have. Only the last one drops it.
    cell: ManuallyDrop<Arc<dyn Cancel>>,
}

impl Canceller {
    /// Creates the canceller of the first handle. A cell has one first handle.
    pub(super) fn first(cell: Arc<dyn Cancel>) -> Self {
        Self {
            cell: ManuallyDrop::new(cell),
        }
    }
}

impl Deref for Canceller {
    type Target = dyn Cancel;

    fn deref(&self) -> &Self::Target {
        &**self.cell
    }
}

impl Clone for Canceller {
    fn clone(&self) -> Self {
        self.handles().enter();
        Self {
            // SAFETY: the field is initialized. The copy is dropped by the last handle alone, and
            // until then the reference that it is a copy of exists.
            cell: unsafe { ptr::read(&self.cell) },
        }
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        if self.handles().leave() {
            // SAFETY: this is the last handle, so nobody has another copy, and the field is not
            // used again.
            let cell = unsafe { ManuallyDrop::take(&mut self.cell) };
            cell.cancel();
        }
    }
}
