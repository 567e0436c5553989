//! The scheduling policy: which task a worker runs next.
//!
//! The LIFO slot comes first. It holds the task that waited for the one that has just ended. Then
//! come the queues, each oldest first: the high lane, the worker's own queue, the tasks pinned to
//! the worker, and last the injector. Every source that comes late in this order comes first at
//! regular intervals, which the constants below give. No task starves behind others, however they
//! wake each other. The executor's documentation promises the bounds that follow from the
//! constants.

use core::cell::Cell;

use crossbeam_deque::Worker as LocalQueue;

use crate::executor::worker::{
    Worker,
    shared::{LaneQueues, Runnable},
};

/// The number of runs after which a worker checks the injector first, and the driver.
const INJECTOR_INTERVAL: u64 = 61;
/// The number of runs after which a worker runs a pinned task first, if there were more of them at
/// the last look.
const PINNED_INTERVAL: u64 = 4;
/// The number of turns of the injector after which a worker steals from workers that are stuck in a
/// poll.
const RESCUE_INTERVAL: u64 = 16;
/// The largest number of consecutive runs from the slot.
const SLOT_STREAK: u32 = 16;
/// The largest number of consecutive runs from the high lane.
const HIGH_STREAK: u32 = 32;
/// The largest number of tasks that a worker takes at once from the injector or from its inbox.
const BATCH: usize = 64;

/// Which source is due.
#[derive(Default)]
pub(super) struct Turns {
    /// The number of consecutive runs from the slot, so far.
    slot_streak: Cell<u32>,
    /// The number of consecutive runs from the high lane, so far.
    high_streak: Cell<u32>,
    /// The run at which the next late source is due.
    next: Cell<u64>,
    /// The run at which the injector is due.
    injector: Cell<u64>,
    /// The number of turns of the injector that pass before the next look for stuck workers.
    rescue: Cell<u64>,
}

impl Turns {
    /// Whether the next run may come from the slot.
    #[inline]
    pub(super) fn slot_is_due(&self) -> bool {
        self.slot_streak.get() < SLOT_STREAK
    }
}

impl Worker {
    /// Takes the next task of this worker, without searching the other workers' queues.
    // Always: it has a second caller at the end of a worker, and the compiler would inline neither
    // it nor `run` into the loop of `work`. Together that costs 78 instructions for each task.
    #[inline(always)]
    pub(in crate::executor::worker) fn next(&self) -> Option<Runnable> {
        if let Some(runnable) = self.queues.slot.take() {
            self.queues
                .turns
                .slot_streak
                .set(self.queues.turns.slot_streak.get() + 1);
            return Some(runnable);
        }
        self.queues.turns.slot_streak.set(0);
        if self.runs() >= self.queues.turns.next.get() {
            if let Some(late) = self.next_in_turn() {
                return Some(late);
            }
        }
        self.next_high()
            .or_else(|| self.queues.normal.pop())
            .or_else(|| self.next_pinned())
            .or_else(|| self.next_injected())
            .or_else(|| self.queues.high.pop())
    }

    #[inline]
    fn next_high(&self) -> Option<Runnable> {
        if self.queues.high.is_empty() {
            return None;
        }
        let streak = self.queues.turns.high_streak.get();
        if streak == HIGH_STREAK {
            self.queues.turns.high_streak.set(0);
            return None;
        }
        self.queues.turns.high_streak.set(streak + 1);
        self.queues.high.pop()
    }

    pub(in crate::executor::worker) fn next_pinned(&self) -> Option<Runnable> {
        self.fetch_pinned();
        let mut pinned = self.queues.pinned.borrow_mut();
        let next = pinned.pop_front();
        self.set_pinned_turn(pinned.len());
        next
    }

    /// Moves a part of the inbox into the pinned queue.
    fn fetch_pinned(&self) {
        let mut pinned = self.queues.pinned.borrow_mut();
        // At least one, however many there are already: pinned tasks that wake themselves must not
        // keep the inbox out forever.
        let room = BATCH.saturating_sub(pinned.len()).max(1);
        let inbox = &self.shared().inboxes[self.index()];
        inbox.take(room, |runnable| pinned.push_back(runnable));
        self.set_pinned_turn(pinned.len());
    }

    /// Takes a task that arrived while this worker had nothing to run: a pinned one, or one that a
    /// hook has pushed.
    pub(in crate::executor::worker) fn next_own(&self) -> Option<Runnable> {
        let own = self.next_pinned().or_else(|| self.queues.high.pop());
        own.or_else(|| self.queues.normal.pop())
    }

    /// Whether this worker's own queues hold a task.
    pub(in crate::executor::worker) fn has_own(&self) -> bool {
        !self.queues.is_empty() || self.has_inbox()
    }

    /// Records the number of pinned tasks, and schedules the turn of the first of them.
    pub(in crate::executor::worker) fn set_pinned_turn(&self, pinned: usize) {
        self.counters().pinned.set(pinned as u64);
        if pinned > 0 {
            let turn = self.runs() + PINNED_INTERVAL;
            self.queues
                .turns
                .next
                .set(turn.min(self.queues.turns.next.get()));
        }
    }

    /// Makes the injector and the driver due. Called when the current task has used up its budget,
    /// which may have taken long.
    pub(in crate::executor::worker) fn hurry_turn(&self) {
        self.queues.turns.injector.set(0);
        self.queues.turns.next.set(0);
    }

    /// Takes a task from a source that is due: one of the normal lane from the injector, or else a
    /// pinned one. Injected tasks of the high lane are moved to this worker's high queue, which
    /// comes first anyway.
    #[cold]
    fn next_in_turn(&self) -> Option<Runnable> {
        let runs = self.runs();
        let is_injectors = runs >= self.queues.turns.injector.get();
        if is_injectors {
            self.queues.turns.injector.set(runs + INJECTOR_INTERVAL);
            self.attend_in_turn();
        }
        self.queues.turns.next.set(self.queues.turns.injector.get());
        if is_injectors {
            self.rescue_in_turn();
            // At least one, however many there are already: new tasks of this worker must not keep
            // the injected ones out forever.
            let room = BATCH.saturating_sub(self.queues.high.len()).max(1);
            let injector = &self.shared().high.injector;
            injector.take(room, |runnable| self.queues.high.push(runnable));
            let injected = take_batch(&self.shared().normal, &self.queues.normal);
            if injected.is_some() || !self.queues.high.is_empty() {
                self.tell_of_injected();
            }
            if injected.is_some() {
                self.fetch_pinned();
                return injected;
            }
        }
        let pinned = self.next_pinned();
        if pinned.is_some() && !self.queues.normal.is_empty() {
            // It runs before a task in the queue that may not have been announced, because it was
            // next.
            self.notify();
        }
        pinned
    }

    /// Steals from workers that are stuck in a poll, if that is due. While polls are long, it is
    /// due at every turn of the injector.
    fn rescue_in_turn(&self) {
        let turns = self.queues.turns.rescue.get();
        if turns > 0 && !self.shared().is_worth_a_wake() {
            self.queues.turns.rescue.set(turns - 1);
        } else {
            self.queues.turns.rescue.set(RESCUE_INTERVAL - 1);
            self.rescue();
        }
    }

    /// Takes from the injector outside of a search, and notifies the others if more than the
    /// returned task was there.
    pub(in crate::executor::worker) fn next_injected(&self) -> Option<Runnable> {
        let injected = self.take_injected()?;
        self.tell_of_injected();
        Some(injected)
    }

    /// Notifies the others after a batch was taken from the injector outside of a search.
    fn tell_of_injected(&self) {
        if !self.queues.has_nothing_to_steal() || self.shared().has_injected() {
            self.notify();
        }
    }

    /// Moves a batch from the injector to this worker's own queues, and returns the first task.
    pub(in crate::executor::worker) fn take_injected(&self) -> Option<Runnable> {
        let high = take_batch(&self.shared().high, &self.queues.high);
        high.or_else(|| take_batch(&self.shared().normal, &self.queues.normal))
    }

    /// Whether a task is due that only this worker can run.
    pub(in crate::executor::worker) fn has_pinned(&self) -> bool {
        self.has_inbox() || self.queues.has_pinned()
    }

    fn has_inbox(&self) -> bool {
        !self.shared().inboxes[self.index()].is_empty()
    }
}

/// Moves a batch from an injector to a worker's own queue, and returns the first task.
fn take_batch(from: &LaneQueues, own: &LocalQueue<Runnable>) -> Option<Runnable> {
    let mut first = None;
    from.injector.take(BATCH, |runnable| match first {
        None => first = Some(runnable),
        Some(_) => own.push(runnable),
    });
    first
}

#[cfg(test)]
mod tests;
