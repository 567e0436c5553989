//! The waiter's calls that block the thread.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use super::{Abandoned, Waiter};
use crate::{host, park};

impl Waiter<'_> {
    /// Blocks the thread until the completer has finished.
    ///
    /// # Errors
    /// [`Abandoned`] if the completer was dropped without completing.
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_wait(self) -> Result<(), Abandoned> {
        park::block_on(self)
    }

    /// Blocks the thread until the completer has finished, for `limit` at most. Returns whether the
    /// completer has finished.
    ///
    /// A limit beyond the range of the clock is no limit. A limit of zero only checks, and
    /// registers nothing.
    ///
    /// To learn how the completer finished, call [`blocking_wait`](Waiter::blocking_wait) or await
    /// the waiter. Both return at once then.
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_wait_timeout(&mut self, limit: Duration) -> bool {
        if limit.is_zero() {
            return self.is_finished();
        }
        park::block_on_timeout(Pin::new(self), limit).is_some()
    }

    /// Blocks the thread until the completer has finished, or until `deadline`. Returns whether the
    /// completer has finished. If the deadline has passed, it only checks.
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_wait_deadline(&mut self, deadline: Instant) -> bool {
        if deadline <= host::now() {
            return self.is_finished();
        }
        park::block_on_deadline(Pin::new(self), deadline).is_some()
    }
}
