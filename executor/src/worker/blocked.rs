//! What a worker does while a poll blocks its thread in a wait of this crate: [`block_on`], a
//! blocking receive, a [`LocalExecutor`]'s `block_on`, the wait for a stolen side of a join.
//!
//! It runs no task. It attends to the driver, so that timers fire and descriptors are watched even
//! if every worker is blocked. Once the executor is closed, it also drops tasks, as the other
//! workers do (`closing.rs`). [`park_until`](joint::waker::park::park_until) has the rule by which
//! it goes to sleep in between.
//!
//! [`block_on`]: crate::block_on
//! [`LocalExecutor`]: crate::LocalExecutor

use core::time::Duration;

use super::{Running, current, queues::After};
use crate::{apart::run_apart, policy::BLOCKED_LOOK};
use joint::waker::park;

/// From now on this thread attends to its worker's duties whenever it is blocked. Returns what it
/// has done before.
pub(super) fn attend_while_blocked() -> Option<park::Attend> {
    park::set_attend(Some(|_| {
        current::with_thread_worker(|worker| {
            worker.and_then(|worker| worker.as_current(|| worker.attend_blocked()))
        })
    }))
}

impl Running<'_> {
    /// Attends to the driver, and in a closed executor drops tasks. Returns how long the thread may
    /// sleep before the next call, as [`Attend`](park::Attend) does.
    fn attend_blocked(&self) -> Option<Duration> {
        // The child of a fork has a copy of the timers and shares the reactor: both are its
        // parent's.
        if !self.shared().is_of_this_process() {
            return None;
        }
        let mut next = None;
        // Nothing that is set for the task below applies to the code that runs here. This code
        // belongs to this executor, whatever the task belongs to.
        let outer = self.is_elsewhere.replace(false);
        run_apart(|| next = self.attend_apart());
        self.is_elsewhere.set(outer);
        next
    }

    fn attend_apart(&self) -> Option<Duration> {
        let shared = &**self.shared();
        if shared.is_closed() {
            self.close_down_blocked();
        }
        self.attend(After::Anything);
        let look = shared.driver.next_blocked_look();
        match shared.is_closed() {
            // A push to a closed executor does not unpark a blocked worker.
            true => Some(look.map_or(BLOCKED_LOOK, |look| look.min(BLOCKED_LOOK))),
            false => look,
        }
    }
}

#[cfg(test)]
mod tests;
