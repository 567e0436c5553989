//! What a worker runs next.
//!
//! First the slot, which holds the one who waited for the task that has just ended; else a queue, oldest first: the high
//! lane's, the worker's own, and what is pinned to the worker; else the injector. Whoever comes late in that row comes first now and
//! then: see the constants. So no task starves behind others, however they wake each other. The executor's documentation promises
//! the bounds that follow from the constants.

use core::cell::Cell;

use crossbeam_deque::Worker;

use super::{
    shared::{Queues, Runnable},
    worker::Local,
};

/// After so many runs a worker looks first at what comes from outside, and at the driver.
const INJECTOR_INTERVAL: u64 = 61;
/// After so many runs a worker looks first at what is pinned to it, if there was more at the last look.
const PINNED_INTERVAL: u64 = 4;
/// At each so many-th turn of the injector a worker looks after those that are stuck in a poll.
const RESCUE_INTERVAL: u64 = 16;
/// How many tasks in a row may come from the slot.
const SLOT_STREAK: u32 = 16;
/// How many tasks in a row may come from the high lane.
const HIGH_STREAK: u32 = 32;
/// How many tasks a worker takes at once from the injector, or from its inbox.
const BATCH: usize = 64;

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turns {
    /// Runs in a row that came from the slot.
    slot_streak: Cell<u32>,
    /// Runs in a row that came from the high lane.
    high_streak: Cell<u32>,
    /// By which run somebody has to come first who comes late in the row.
    next: Cell<u64>,
    /// By which run that is what comes from outside.
    injector: Cell<u64>,
    /// How many turns of the injector pass without a look after those that are stuck.
    rescue: Cell<u64>,
}

impl Turns {
    /// Whether the next run may come from the slot.
    #[inline]
    pub(super) fn slot_is_due(&self) -> bool {
        self.slot_streak.get() < SLOT_STREAK
    }
}

impl Local {
    /// What this worker has to run, without a search.
    // Always: it has a second caller at the end of a worker, and the compiler would inline neither
    // it nor `run` into the loop of `work`. Together that costs 78 instructions for each task.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<Runnable> {
        if let Some(runnable) = self.slot.take() {
            self.turns.slot_streak.set(self.turns.slot_streak.get() + 1);
            return Some(runnable);
        }
        self.turns.slot_streak.set(0);
        if self.runs() >= self.turns.next.get() {
            if let Some(late) = self.next_in_turn() {
                return Some(late);
            }
        }
        self.next_high()
            .or_else(|| self.normal.pop())
            .or_else(|| self.next_pinned())
            .or_else(|| self.next_injected())
            .or_else(|| self.high.pop())
    }

    #[inline]
    fn next_high(&self) -> Option<Runnable> {
        if self.high.is_empty() {
            return None;
        }
        let streak = self.turns.high_streak.get();
        if streak == HIGH_STREAK {
            self.turns.high_streak.set(0);
            return None;
        }
        self.turns.high_streak.set(streak + 1);
        self.high.pop()
    }

    pub(super) fn next_pinned(&self) -> Option<Runnable> {
        self.fetch_pinned();
        let mut pinned = self.pinned.borrow_mut();
        let next = pinned.pop_front();
        self.set_pinned_turn(pinned.len());
        next
    }

    /// Takes home a part of what has come from elsewhere for this worker.
    fn fetch_pinned(&self) {
        let mut pinned = self.pinned.borrow_mut();
        // However many there are already: those that wake themselves must not keep these out for
        // ever.
        let room = BATCH.saturating_sub(pinned.len()).max(1);
        let inbox = &self.shared().inboxes[self.index()];
        inbox.take(room, |runnable| pinned.push_back(runnable));
        self.set_pinned_turn(pinned.len());
    }

    /// What there is for a worker that had nothing to run: pinned tasks that have come meanwhile, or what a hook has pushed.
    pub(super) fn next_own(&self) -> Option<Runnable> {
        let own = self.next_pinned().or_else(|| self.high.pop());
        own.or_else(|| self.normal.pop())
    }

    /// Whether there is something in this worker's own queues.
    pub(super) fn has_own(&self) -> bool {
        !self.normal.is_empty() || !self.high.is_empty() || self.has_pinned()
    }

    /// There are so many pinned tasks: sees to it that the first of them has its turn before long.
    pub(super) fn set_pinned_turn(&self, pinned: usize) {
        self.counters().pinned.set(pinned as u64);
        if pinned > 0 {
            let turn = self.runs() + PINNED_INTERVAL;
            self.turns.next.set(turn.min(self.turns.next.get()));
        }
    }

    /// The task that is being polled has used its budget up, which may have taken long: what comes
    /// from outside is next, and the driver is looked at.
    pub(super) fn hurry_turn(&self) {
        self.turns.injector.set(0);
        self.turns.next.set(0);
    }

    /// What has come last in the row for long: one of the normal lane from outside, or else one that is pinned. What is of the high
    /// lane is brought to where it comes first.
    #[cold]
    fn next_in_turn(&self) -> Option<Runnable> {
        let runs = self.runs();
        let is_injectors = runs >= self.turns.injector.get();
        if is_injectors {
            self.turns.injector.set(runs + INJECTOR_INTERVAL);
            self.attend_in_turn();
        }
        self.turns.next.set(self.turns.injector.get());
        if is_injectors {
            self.rescue_in_turn();
            // However many there are already: others that come anew here must not keep these out for ever.
            let room = BATCH.saturating_sub(self.high.len()).max(1);
            let injector = &self.shared().high.injector;
            injector.take(room, |runnable| self.high.push(runnable));
            let injected = take_batch(&self.shared().normal, &self.normal);
            if injected.is_some() || !self.high.is_empty() {
                self.tell_of_injected();
            }
            if injected.is_some() {
                self.fetch_pinned();
                return injected;
            }
        }
        let pinned = self.next_pinned();
        if pinned.is_some() && !self.normal.is_empty() {
            // It is run before one of the queue that may have been left untold of, since it was next.
            self.notify();
        }
        pinned
    }

    /// Takes home what is stuck behind another worker's poll, if it is time to look. Where polls are long, it is at each turn.
    fn rescue_in_turn(&self) {
        let turns = self.turns.rescue.get();
        if turns > 0 && !self.shared().is_worth_a_wake() {
            self.turns.rescue.set(turns - 1);
        } else {
            self.turns.rescue.set(RESCUE_INTERVAL - 1);
            self.rescue();
        }
    }

    /// Takes from the injector outside of a search, and tells the others when there is more than this worker runs next.
    pub(super) fn next_injected(&self) -> Option<Runnable> {
        let injected = self.take_injected()?;
        self.tell_of_injected();
        Some(injected)
    }

    /// After having taken from the injector outside of a search.
    fn tell_of_injected(&self) {
        if !self.normal.is_empty() || !self.high.is_empty() || self.shared().has_injected() {
            self.notify();
        }
    }

    /// Takes a batch from the injector to the worker's own queues. The first comes back.
    pub(super) fn take_injected(&self) -> Option<Runnable> {
        let high = take_batch(&self.shared().high, &self.high);
        high.or_else(|| take_batch(&self.shared().normal, &self.normal))
    }

    /// Whether there is something that this worker alone can run.
    pub(super) fn has_pinned(&self) -> bool {
        !self.shared().inboxes[self.index()].is_empty() || !self.pinned.borrow().is_empty()
    }
}

/// Takes a batch from an injector to a worker's own queue. The first comes back.
fn take_batch(from: &Queues, own: &Worker<Runnable>) -> Option<Runnable> {
    let mut first = None;
    from.injector.take(BATCH, |runnable| match first {
        None => first = Some(runnable),
        Some(_) => own.push(runnable),
    });
    first
}

#[cfg(test)]
mod tests;
