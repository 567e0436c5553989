//! What a worker does while a poll blocks its thread in a wait of this crate: [`block_on`], a
//! blocking receive, a [`LocalExecutor`]'s `block_on`, the wait for a stolen side of a join.
//!
//! It runs no task. It attends to the driver, so that timers fire and descriptors are watched even
//! if every worker is blocked. [`rest`](crate::waker::park::rest) has the rule by which it goes to
//! sleep in between.
//!
//! [`block_on`]: crate::block_on
//! [`LocalExecutor`]: crate::LocalExecutor

use core::time::Duration;

use super::worker::{self, Local};
use crate::waker::park;

/// Sets whether this thread attends to its worker's duties while it is blocked.
pub(super) fn attend_while_blocked(does: bool) {
    let attend = || worker::with_current(|local| local.and_then(Local::attend_blocked));
    park::set_attend(does.then_some(attend));
}

impl Local {
    /// Returns how long nothing will be due.
    fn attend_blocked(&self) -> Option<Duration> {
        // The child of a fork has a copy of the timers and shares the reactor: both are its parent's.
        if !self.shared().process.is_current() {
            return None;
        }
        self.attend();
        self.shared().driver.next_blocked_look()
    }
}
