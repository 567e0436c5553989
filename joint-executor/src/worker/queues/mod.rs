//! The queues of one worker. `turn.rs` has the scheduling policy, the order in which they are
//! served. Everything else goes through the functions here.

use alloc::collections::VecDeque;
use core::cell::{Cell, RefCell};

use self::turn::Turns;
use super::shared::Runnable;
use crate::deques::Deques;

mod turn;

pub(super) struct Queues {
    /// The LIFO slot.
    slot: Cell<Option<Runnable>>,
    /// The next activity of this worker.
    after: Cell<After>,
    /// Whether a task was queued after the last take because it has yielded.
    pub(super) has_yielded: Cell<bool>,
    /// The tasks that other workers may take.
    pub(super) deques: Deques<Runnable>,
    /// The tasks that only this worker may run.
    pinned: RefCell<VecDeque<Runnable>>,
    turns: Turns,
}

/// The activity of a worker after a call that may push tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Anything, after any length of time: a poll or a stranger's code is running.
    Anything,
    /// It runs the task that is being woken, which waited for the one that has just ended. No other
    /// code runs before.
    Slot,
    /// It runs the next task of its queues. No other code runs before.
    Queue,
}

impl Queues {
    pub(super) fn new(deques: Deques<Runnable>) -> Self {
        Self {
            slot: Cell::new(None),
            after: Cell::new(After::Anything),
            has_yielded: Cell::new(false),
            deques,
            pinned: RefCell::default(),
            turns: Turns::new(),
        }
    }

    /// Calls `f`, having declared what this worker does next.
    #[inline]
    pub(super) fn before(&self, after: After, f: impl FnOnce()) {
        let outer = self.after.replace(after);
        f();
        self.after.set(outer);
    }

    pub(super) fn after(&self) -> After {
        self.after.get()
    }

    pub(super) fn take_slot(&self) -> Option<Runnable> {
        self.slot.take()
    }

    /// Puts a task that was woken into the slot, if that is open and its turn. Returns the task
    /// that has no place there.
    // Always: a wake-up inlines it, or pays for a call, 20 instructions.
    #[inline(always)]
    pub(super) fn fill_slot(&self, runnable: Runnable) -> Option<Runnable> {
        match self.after.get() == After::Slot && self.turns.slot_is_due() {
            true => self.slot.replace(Some(runnable)),
            false => Some(runnable),
        }
    }

    /// Records that a task that has yielded is about to be pushed behind all others.
    #[inline(always)]
    pub(super) fn before_yield(&self) {
        if self.deques.woken() == 0 {
            // Otherwise its turn could come before many of the spawned tasks have run.
            self.turns.begin_streak();
        }
        self.has_yielded.set(true);
    }

    /// Pushes a task of the normal lane behind all others in the queue, even if that is full.
    pub(super) fn push_beyond(&self, runnable: Runnable) {
        let pushed = self.deques.push_woken(runnable, usize::MAX);
        pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
    }

    /// Returns whether all queues are empty. The slot is not looked at: an idle worker's is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.deques.is_empty() && !self.has_pinned()
    }

    pub(super) fn has_pinned(&self) -> bool {
        !self.pinned.borrow().is_empty()
    }

    /// Takes a task from any of the queues but the pinned one: first all of high priority, then all
    /// that were woken, oldest first.
    pub(super) fn pop(&self) -> Option<Runnable> {
        let next = self.slot.take().or_else(|| self.deques.pop_high());
        next.or_else(|| self.deques.pop_woken())
            .or_else(|| self.deques.pop_newest_spawned())
    }

    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 3] {
        let pinned = self.pinned.borrow().len();
        let deques = &self.deques;
        [deques.spawned() + deques.woken(), deques.high(), pinned]
    }
}
