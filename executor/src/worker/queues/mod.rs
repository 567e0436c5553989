//! The queues of one worker. `turn.rs` has the scheduling policy, the order in which they are
//! served. Everything else goes through the functions here.

use alloc::{collections::VecDeque, vec::Vec};
use core::cell::{Cell, RefCell};

use self::turn::Turns;
use super::shared::Runnable;
use crate::deques::Deques;

mod turn;

/// How many tasks of the normal lane the stack and the queue each hold. Further tasks go to the
/// injector, whose queue takes no memory. A batch that is stolen or comes from the injector is
/// always held, and the room that it has made stays.
pub(super) const MOST_QUEUED: usize = 1 << 14;

pub(super) struct Queues {
    /// The LIFO slot.
    slot: Cell<Option<Runnable>>,
    /// Whether a push goes to the slot, which is so while the task that waited for the one that has
    /// just ended is being woken.
    slot_is_open: Cell<bool>,
    /// The tasks that other workers may take.
    pub(super) deques: Deques<Runnable>,
    /// The tasks that only this worker may run.
    pinned: RefCell<VecDeque<Runnable>>,
    turns: Turns,
}

/// What a push of a task of the normal lane has done.
pub(super) enum Pushed {
    /// The task runs next on this worker, so no other worker need be woken for it.
    Next,
    /// The task is in a queue, from which another worker may take it.
    Queued,
}

impl Queues {
    pub(super) fn new(deques: Deques<Runnable>) -> Self {
        Self {
            slot: Cell::new(None),
            slot_is_open: Cell::new(false),
            deques,
            pinned: RefCell::default(),
            turns: Turns::new(),
        }
    }

    /// Calls `f` while a push of the normal lane goes to the slot, if `open` is set.
    #[inline]
    pub(super) fn with_slot(&self, open: bool, f: impl FnOnce()) {
        self.slot_is_open.set(open);
        f();
        self.slot_is_open.set(false);
    }

    /// Calls `f` while no push goes to the slot. `displaced` gets the task that is in the slot.
    pub(super) fn without_slot<R>(
        &self,
        displaced: impl FnOnce(Runnable),
        f: impl FnOnce() -> R,
    ) -> R {
        let is_open = self.slot_is_open.replace(false);
        if let Some(runnable) = self.slot.take() {
            displaced(runnable);
        }
        let result = f();
        self.slot_is_open.set(is_open);
        result
    }

    /// Pushes a task of the normal lane that this worker has just spawned. If there are too many,
    /// `inject` gets the task.
    #[inline(always)]
    pub(super) fn push_spawned(&self, runnable: Runnable, inject: impl FnOnce(Runnable)) {
        let pushed = self.deques.push_spawned(runnable, MOST_QUEUED);
        pushed.unwrap_or_else(inject);
    }

    /// Pushes a task of the normal lane that was woken: into the slot if that is open and its turn,
    /// and otherwise into the queue. If the queue is full, `inject` gets the task.
    // Always: a wake-up inlines it, or pays for a call, 20 instructions.
    #[inline(always)]
    pub(super) fn push(&self, runnable: Runnable, inject: impl FnOnce(Runnable)) -> Pushed {
        if self.slot_is_open.get() && self.turns.slot_is_due() {
            let displaced = self.slot.replace(Some(runnable));
            let Some(displaced) = displaced else {
                return Pushed::Next;
            };
            self.push_behind(displaced, inject);
        } else {
            self.push_behind(runnable, inject);
        }
        Pushed::Queued
    }

    /// Pushes a task of the normal lane behind all others in the queue. If the queue is full,
    /// `inject` gets it.
    #[inline(always)]
    pub(super) fn push_behind(&self, runnable: Runnable, inject: impl FnOnce(Runnable)) {
        let pushed = self.deques.push_woken(runnable, MOST_QUEUED);
        pushed.unwrap_or_else(inject);
    }

    /// Pushes a task that has yielded behind all others.
    #[inline(always)]
    pub(super) fn push_yielded(&self, runnable: Runnable, inject: impl FnOnce(Runnable)) {
        if self.deques.woken() == 0 {
            // Otherwise the queue's turn could come before many of the spawned tasks have run.
            self.turns.begin_streak();
        }
        self.push_behind(runnable, inject);
    }

    /// Pushes tasks that only this worker may run. Returns how many there are.
    pub(super) fn push_pinned(&self, runnables: impl IntoIterator<Item = Runnable>) -> usize {
        let mut pinned = self.pinned.borrow_mut();
        pinned.extend(runnables);
        pinned.len()
    }

    /// Pushes tasks of an executor that has closed, to be dropped. The queue takes all.
    pub(super) fn push_cancelled(&self, cancelled: Vec<Runnable>) {
        cancelled.into_iter().for_each(|one| self.push_beyond(one));
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
