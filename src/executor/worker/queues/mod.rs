//! The queues of one worker. `turn.rs` has the scheduling policy, the order in which they are
//! served. Everything else goes through the functions here.

use alloc::{collections::VecDeque, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    hint,
};

use crossbeam_deque::{Steal, Stealer, Worker as LocalQueue};

use self::turn::Turns;
use super::shared::{LaneQueues, Runnable};

mod turn;

/// How many tasks the normal queue holds. Further tasks go to the injector, whose queue takes no
/// memory.
pub(super) const MOST_QUEUED: usize = 1 << 14;

pub(super) struct Queues {
    /// The LIFO slot.
    slot: Cell<Option<Runnable>>,
    /// Whether a push goes to the slot, which is so while the task that waited for the one that has
    /// just ended is being woken.
    slot_is_open: Cell<bool>,
    high: LocalQueue<Runnable>,
    normal: LocalQueue<Runnable>,
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
    pub(super) fn new(normal: LocalQueue<Runnable>, high: LocalQueue<Runnable>) -> Self {
        Self {
            slot: Cell::new(None),
            slot_is_open: Cell::new(false),
            high,
            normal,
            pinned: RefCell::default(),
            turns: Turns::default(),
        }
    }

    /// Calls `f` while a push of the normal lane goes to the slot, if `open` is set.
    #[inline]
    pub(super) fn with_slot(&self, open: bool, f: impl FnOnce()) {
        self.slot_is_open.set(open);
        f();
        self.slot_is_open.set(false);
    }

    /// Pushes a task of the normal lane: into the slot if that is open and its turn, and otherwise
    /// into the queue. If the queue is full, `inject` gets the task.
    // Always: a spawn and a wake-up both inline it, or each pays for a call, 20 instructions.
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

    /// Pushes a task of the normal lane behind all others. If the queue is full, `inject` gets it.
    #[inline(always)]
    pub(super) fn push_behind(&self, runnable: Runnable, inject: impl FnOnce(Runnable)) {
        if self.normal.len() < MOST_QUEUED {
            self.normal.push(runnable);
        } else {
            inject(runnable);
        }
    }

    pub(super) fn push_high(&self, runnable: Runnable) {
        self.high.push(runnable);
    }

    /// Pushes tasks that only this worker may run. Returns how many there are.
    pub(super) fn push_pinned(&self, runnables: impl IntoIterator<Item = Runnable>) -> usize {
        let mut pinned = self.pinned.borrow_mut();
        pinned.extend(runnables);
        pinned.len()
    }

    /// Pushes tasks of an executor that has closed, to be dropped. The normal queue takes all.
    pub(super) fn push_cancelled(&self, cancelled: Vec<Runnable>) {
        for runnable in cancelled {
            self.normal.push(runnable);
        }
    }

    /// Whether another worker could steal nothing here.
    #[inline]
    pub(super) fn has_nothing_to_steal(&self) -> bool {
        self.normal.is_empty() && self.high.is_empty()
    }

    /// Whether all queues are empty. The slot is not looked at: an idle worker's is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.has_nothing_to_steal() && !self.has_pinned()
    }

    pub(super) fn has_pinned(&self) -> bool {
        !self.pinned.borrow().is_empty()
    }

    /// Takes a task from any of the queues but the pinned one, in no particular order.
    pub(super) fn pop(&self) -> Option<Runnable> {
        let next = self.slot.take().or_else(|| self.high.pop());
        next.or_else(|| self.normal.pop())
    }

    /// Steals from the other worker with that index: up to half of a queue, and at most `most`
    /// tasks. Returns the first of them.
    pub(super) fn steal_from(
        &self,
        worker: usize,
        high: &LaneQueues,
        normal: &LaneQueues,
        most: usize,
    ) -> Option<Runnable> {
        let stolen = steal(&high.stealers[worker], &self.high, most);
        stolen.or_else(|| steal(&normal.stealers[worker], &self.normal, most))
    }

    /// Moves tasks from the other worker with that index into these queues: up to half of each of
    /// its queues, and at most `most` tasks. Returns whether there were any. Does not retry.
    pub(super) fn rescue_from(
        &self,
        worker: usize,
        high: &LaneQueues,
        normal: &LaneQueues,
        most: usize,
    ) -> bool {
        let rescue = |lane: &LaneQueues, own| {
            let stolen = lane.stealers[worker].steal_batch_with_limit(own, most);
            stolen.is_success()
        };
        let any_high = rescue(high, &self.high);
        rescue(normal, &self.normal) || any_high
    }

    /// The lengths of the queues: normal, high and pinned.
    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 3] {
        let pinned = self.pinned.borrow().len();
        [self.normal.len(), self.high.len(), pinned]
    }
}

/// Steals up to half of a queue, and at most `most` tasks. Retries while other workers are stealing
/// from it.
fn steal(from: &Stealer<Runnable>, own: &LocalQueue<Runnable>, most: usize) -> Option<Runnable> {
    loop {
        let stolen = match most {
            1 => from.steal(),
            _ => from.steal_batch_with_limit_and_pop(own, most),
        };
        match stolen {
            Steal::Success(runnable) => return Some(runnable),
            Steal::Empty => return None,
            Steal::Retry => hint::spin_loop(),
        }
    }
}
