//! [`Pool`]: an executor of a world, and which of its workers are in a poll.

use std::cell::Cell;

use super::super::{clock, machine::Place, record::Actor};
use joint_executor::hosted::{BoundWorker, ExecutorId, HostedWorker, ReadyTask};

pub(super) struct Pool {
    pub(super) id: ExecutorId,
    /// The simulated machine that it belongs to.
    pub(super) place: Place,
    slots: Vec<Slot>,
    next_worker: Cell<usize>,
    /// Whether to shut it down once none of its workers is in a poll.
    pub(super) is_closing: Cell<bool>,
    pub(super) has_ended: Cell<bool>,
}

/// A worker, and the poll that it is in.
pub(super) struct Slot {
    pub(super) worker: BoundWorker,
    /// The actor whose poll the worker is in, or [`NOBODY`].
    actor: Cell<Actor>,
}

const NOBODY: Actor = Actor::TIMER;

impl Slot {
    #[inline]
    pub(super) fn begin(&self, actor: Actor) {
        self.actor.set(actor);
    }

    #[inline]
    pub(super) fn end(&self) {
        self.actor.set(NOBODY);
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.actor.get() == NOBODY
    }
}

impl Pool {
    /// Called on the world's own thread. An executor has at least one worker.
    pub(super) fn new(workers: Vec<HostedWorker>, place: Place) -> Self {
        let id = workers[0].executor();
        let slot = |worker: HostedWorker| Slot {
            worker: worker.bind(),
            actor: Cell::new(NOBODY),
        };
        Self {
            id,
            place,
            slots: workers.into_iter().map(slot).collect(),
            next_worker: Cell::new(0),
            is_closing: Cell::new(false),
            has_ended: Cell::new(false),
        }
    }

    /// Returns a worker that is not in a poll and may run this task.
    #[inline(always)]
    pub(super) fn free_worker(&self, task: &ReadyTask) -> Option<&Slot> {
        match task.pinned_to() {
            Some(worker) => Some(&self.slots[worker]).filter(|slot| slot.is_free()),
            None => {
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

    #[inline(always)]
    fn has_run(&self, worker: usize) {
        let next = worker + 1;
        let is_last = next == self.slots.len();
        self.next_worker.set(if is_last { 0 } else { next });
    }

    pub(super) fn first(&self) -> &Slot {
        &self.slots[0]
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy().next().is_some()
    }

    /// Returns the workers that are in a poll, with their indices and those whose polls they are.
    pub(super) fn busy(&self) -> impl Iterator<Item = (usize, &BoundWorker, Actor)> {
        let slots = self.slots.iter().enumerate();
        let busy = slots.filter(|(_, slot)| !slot.is_free());
        busy.map(|(index, slot)| (index, &slot.worker, slot.actor.get()))
    }

    /// Lets each worker drop what is left, with what was taken from the queues before.
    pub(super) fn discard(
        &self,
        queued: impl IntoIterator<Item = ReadyTask>,
        discard: impl Fn(&BoundWorker),
    ) {
        for task in queued {
            let worker = task.pinned_to().unwrap_or(0);
            self.slots[worker].worker.give_back(task);
        }
        for slot in &self.slots {
            discard(&slot.worker);
        }
    }

    /// The earliest deadline of a timer that has not been given up.
    pub(super) fn next_timer(&self) -> Option<u64> {
        self.first().worker.next_deadline().map(clock::nanos)
    }

    /// Takes all that was queued from elsewhere than its workers.
    pub(super) fn take_injected(&self, mut take: impl FnMut(ReadyTask)) {
        for slot in &self.slots {
            slot.worker.take_injected(&mut take);
        }
    }
}
