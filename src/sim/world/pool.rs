//! [`Pool`]: an executor of a world, and which of its workers are in a poll.

use alloc::vec::Vec;
use core::cell::Cell;

use super::super::{host::Place, record::Actor};
use crate::executor::simulated::{ExecutorId, RunBy, Simulated, Task};

/// An executor of the world.
pub(super) struct Pool {
    pub(super) id: ExecutorId,
    /// The simulated machine that it belongs to.
    pub(super) place: Place,
    pub(super) simulated: Simulated,
    /// What each worker does.
    pub(super) slots: Vec<Slot>,
    pub(super) next_worker: Cell<usize>,
    /// Whether it is to be ended once none of its workers is in a poll.
    pub(super) is_closing: Cell<bool>,
    pub(super) has_ended: Cell<bool>,
}

/// What a worker does.
pub(super) struct Slot {
    /// Whether it is in a poll.
    pub(super) is_busy: Cell<bool>,
    /// In whose poll it is, or was last.
    pub(super) actor: Cell<Actor>,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            is_busy: Cell::new(false),
            actor: Cell::new(Actor::MAIN),
        }
    }
}

impl Slot {
    /// A poll begins.
    #[inline]
    pub(super) fn begin(&self, actor: Actor) {
        self.is_busy.set(true);
        self.actor.set(actor);
    }
}

impl Pool {
    /// A worker that is not in a poll, and may run this.
    #[inline(always)]
    pub(super) fn free_worker(&self, task: &Task) -> Option<usize> {
        let is_free = |&worker: &usize| !self.slots[worker].is_busy.get();
        match task.run_by() {
            RunBy::Only(worker) => Some(worker).filter(is_free),
            RunBy::Any => {
                let (first, all) = (self.next_worker.get(), self.slots.len());
                let worker = match is_free(&first) {
                    true => first,
                    false => (first..all).chain(0..first).find(is_free)?,
                };
                let next = worker + 1;
                self.next_worker.set(if next == all { 0 } else { next });
                Some(worker)
            }
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_busy.get())
    }
}
