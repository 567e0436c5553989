//! [`References`]: the number of references to memory that the last holder frees.

use joint_switch::{AtomicUsize, Retire, order};

/// The number of references from which on one more is refused. Memory cannot hold as many, so they
/// were leaked in a loop.
const MOST: usize = isize::MAX as usize;

/// Each holder of a reference may use this, and what is counted, until it gives its reference up.
#[derive(Debug)]
pub(crate) struct References(AtomicUsize);

impl References {
    pub(crate) fn new(count: usize) -> Self {
        Self(AtomicUsize::new(count))
    }

    /// Counts one more. Returns false, and counts nothing, if there are too many.
    #[must_use]
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        // ORDERING: enter. Relaxed: the caller's own reference keeps the memory alive, and the new
        // one reaches another thread by a happens-before edge of its own.
        let enters = self.0.fetch_add(1, order!(enter: Relaxed)) <= MOST;
        if !enters {
            // ORDERING: refuse. Relaxed: it takes back what was just added, which nobody holds.
            self.0.fetch_sub(1, order!(refuse: Relaxed));
        }
        enters
    }

    /// Returns whether the caller's reference seems to be the only one, which orders nothing.
    #[inline]
    pub(crate) fn seem_last(&self) -> bool {
        // ORDERING: seem_last. Relaxed: the answer is only a hint.
        self.0.load(order!(seem_last: Relaxed)) == 1
    }

    /// Returns whether the caller's reference is the only one. If it is, all that other threads did
    /// with theirs happens before this returns, and nobody can add one.
    #[inline]
    pub(crate) fn are_last(&self) -> bool {
        // ORDERING: last. Acquire, with the Release of `leave`: all that other threads did with
        // their references happens before the memory is freed, or used by the caller alone.
        self.0.load(order!(last: Acquire)) == 1
    }

    /// Gives up a reference. Returns whether it was the last one, after all that others did with
    /// theirs. If it was not, another thread may free this during the call.
    #[must_use]
    #[inline]
    pub(crate) fn leave(&self) -> bool {
        // ORDERING: leave. Release: what this thread did with its reference happens before the
        // memory is freed (`last`, and the `leave` that is the last). Acquire: if this is the last,
        // what the other threads did happens before that as well.
        self.are_last() || self.0.fetch_sub(1, order!(leave: AcqRel)) == 1
    }

    /// Makes the last access before the memory is freed.
    pub(crate) fn retire(&mut self) {
        self.0.retire();
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> &AtomicUsize {
        &self.0
    }
}
