//! [`Pool`]: an executor of a world, and which of its workers are in a poll.

use alloc::vec::Vec;
use core::cell::Cell;

use super::super::{host::Place, record::Actor};
use crate::simulated::{ExecutorId, OwnWorker, RunBy, Simulated, Task};

/// An executor of the world.
pub(super) struct Pool {
    pub(super) id: ExecutorId,
    /// The simulated machine that it belongs to.
    pub(super) place: Place,
    pub(super) simulated: Simulated,
    slots: Vec<Slot>,
    next_worker: Cell<usize>,
    /// Whether it is to be ended once none of its workers is in a poll.
    pub(super) is_closing: Cell<bool>,
    pub(super) has_ended: Cell<bool>,
}

/// A worker, and what it does.
pub(super) struct Slot {
    pub(super) worker: OwnWorker,
    /// In whose poll it is, or [`NOBODY`].
    actor: Cell<Actor>,
}

/// No task has this number.
const NOBODY: Actor = Actor::TIMER;

impl Slot {
    /// A poll begins.
    #[inline]
    pub(super) fn begin(&self, actor: Actor) {
        self.actor.set(actor);
    }

    /// A poll ends.
    #[inline]
    pub(super) fn end(&self) {
        self.actor.set(NOBODY);
    }

    #[inline]
    fn is_free(&self) -> bool {
        self.actor.get() == NOBODY
    }
}

impl Pool {
    pub(super) fn new(simulated: Simulated, workers: Vec<OwnWorker>, place: Place) -> Self {
        let slot = |worker| Slot {
            worker,
            actor: Cell::new(NOBODY),
        };
        Self {
            id: simulated.id(),
            place,
            simulated,
            slots: workers.into_iter().map(slot).collect(),
            next_worker: Cell::new(0),
            is_closing: Cell::new(false),
            has_ended: Cell::new(false),
        }
    }

    /// A worker that is not in a poll, and may run this.
    #[inline(always)]
    pub(super) fn free_worker(&self, task: &Task) -> Option<&Slot> {
        match task.run_by() {
            RunBy::Only(worker) => Some(&self.slots[worker]).filter(|slot| slot.is_free()),
            RunBy::Any => {
                let next = self.next_worker.get();
                let slot = &self.slots[next];
                match slot.is_free() {
                    true => {
                        self.has_run(next);
                        Some(slot)
                    }
                    false => self.next_free_worker(next),
                }
            }
        }
    }

    #[cold]
    fn next_free_worker(&self, after: usize) -> Option<&Slot> {
        let all = (after..self.slots.len()).chain(0..after);
        let worker = all.into_iter().find(|&at| self.slots[at].is_free())?;
        self.has_run(worker);
        Some(&self.slots[worker])
    }

    /// The next one is the next to run something.
    #[inline(always)]
    fn has_run(&self, worker: usize) {
        let next = worker + 1;
        let is_last = next == self.slots.len();
        self.next_worker.set(if is_last { 0 } else { next });
    }

    /// The first worker, on which the main future runs.
    pub(super) fn first(&self) -> &Slot {
        &self.slots[0]
    }

    pub(super) fn is_first_busy(&self) -> bool {
        !self.first().is_free()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy().next().is_some()
    }

    /// The workers that are in a poll, with their indices and those whose polls they are.
    pub(super) fn busy(&self) -> impl Iterator<Item = (usize, &OwnWorker, Actor)> {
        let slots = self.slots.iter().enumerate();
        let busy = slots.filter(|(_, slot)| !slot.is_free());
        busy.map(|(index, slot)| (index, &slot.worker, slot.actor.get()))
    }

    /// Drops everything that is left, and what was taken from the queues before.
    pub(super) fn end(&self, queued: impl IntoIterator<Item = Task>) {
        let workers: Vec<_> = self.slots.iter().map(|slot| &slot.worker).collect();
        self.simulated.end(&workers, queued);
    }
}
