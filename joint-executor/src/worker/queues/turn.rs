//! The scheduling policy: which task a worker runs next.
//!
//! The LIFO slot comes first. It holds the task that waited for the one that has just ended. Then
//! come the high lane, the tasks that the worker has spawned, the tasks in its queue, the tasks
//! pinned to it, and last the injector. Spawned tasks run newest first, all others oldest first.
//! No task starves behind others, however they wake each other: after a streak of tasks of one kind
//! the next kind has a run, pinned tasks have one in four, and every 61 runs, or sooner if runs are
//! long, the worker makes a *round*. It attends to the driver, and takes an injected task, or the
//! oldest spawned one. `docs/executor.md` has the bounds that follow from these numbers.
//!
//! # Why newest first
//! A recursion that spawns a task for each call then runs depth first. The number of its tasks that
//! exist at a time grows with its depth, and not with the number of its calls, so they stay in the
//! cache. A thief takes the oldest of them, which is the largest part of the work. And a task that
//! has spawned others and awaits them in order is woken by the last of them to run, after which all
//! the others have ended, instead of by each.
//!
//! A task that was woken is woken by something that happened outside of this stack of calls, and
//! runs in the order of these events. A task that yields runs after those that it lets run first.

use core::cell::Cell;

use super::Queues;
use crate::{
    policy::{BATCH, INJECTOR_INTERVAL, OLDEST_INTERVAL, PINNED_INTERVAL, ROUND_PAUSE, STREAK},
    sleep::Woke,
    worker::{
        Running, Worker,
        shared::{Injector, Runnable},
    },
};

/// Never due.
const NEVER: u64 = u64::MAX;

/// Which source is due.
#[derive(Default)]
pub(super) struct Turns {
    /// The number of consecutive runs from the slot, so far.
    slot_streak: Cell<u32>,
    /// The number of runs from the high lane since the others last had their turn.
    high_streak: Cell<u32>,
    /// The number of spawned tasks that run before the queue has its turn.
    spawned_left: Cell<u32>,
    /// The run at which the next round, pinned task or look is due.
    next: Cell<u64>,
    /// The run at which the next round is due.
    round: Cell<u64>,
    /// The number of rounds so far.
    rounds: Cell<u64>,
    /// The first run at which a round may take a task again.
    pause: Cell<u64>,
    /// The run at which a pinned task is due, or [`NEVER`].
    pinned: Cell<u64>,
    /// The run at which a look at the other workers is due.
    look: Cell<u64>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            spawned_left: Cell::new(STREAK),
            pinned: Cell::new(NEVER),
            ..Self::default()
        }
    }

    /// Begins a streak of spawned tasks.
    #[inline(always)]
    pub(super) fn begin_streak(&self) {
        self.spawned_left.set(STREAK);
    }

    /// Returns whether the next run may come from the slot.
    #[inline]
    pub(super) fn slot_is_due(&self) -> bool {
        self.slot_streak.get() < STREAK
    }
}

impl Worker {
    /// Takes a spawned task, or after a streak of them one from the queue.
    #[inline(always)]
    fn next_normal(&self) -> Option<Runnable> {
        let Queues { deques, turns, .. } = &self.queues;
        let left = turns.spawned_left.get();
        if left == 0 {
            return self.next_after_streak();
        }
        if let Some(spawned) = deques.pop_newest_spawned() {
            turns.spawned_left.set(left - 1);
            return Some(spawned);
        }
        turns.begin_streak();
        deques.pop_woken()
    }

    #[inline(never)]
    fn next_after_streak(&self) -> Option<Runnable> {
        self.queues.turns.begin_streak();
        let woken = self.queues.deques.pop_woken();
        woken.or_else(|| self.next_normal())
    }

    /// Takes the oldest spawned task, as a part of the streak.
    fn next_oldest(&self) -> Option<Runnable> {
        let Queues { deques, turns, .. } = &self.queues;
        let oldest = deques.pop_oldest_spawned()?;
        turns
            .spawned_left
            .set(turns.spawned_left.get().saturating_sub(1));
        Some(oldest)
    }

    #[inline]
    fn next_high(&self) -> Option<Runnable> {
        if self.queues.deques.high() == 0 {
            return None;
        }
        let streak = self.queues.turns.high_streak.get();
        if streak == STREAK {
            self.queues.turns.high_streak.set(0);
            return None;
        }
        self.queues.turns.high_streak.set(streak + 1);
        self.queues.deques.pop_high()
    }

    pub(in crate::worker) fn next_pinned(&self) -> Option<Runnable> {
        self.fetch_pinned();
        let mut pinned = self.queues.pinned.borrow_mut();
        let next = pinned.pop_front();
        self.queues.turns.pinned.set(NEVER);
        self.set_pinned_turn(pinned.len());
        next
    }

    /// Queues a task that only this worker may run.
    pub(in crate::worker) fn push_pinned(&self, runnable: Runnable) {
        let mut pinned = self.queues.pinned.borrow_mut();
        pinned.push_back(runnable);
        self.set_pinned_turn(pinned.len());
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

    /// Records the number of pinned tasks, and schedules the turn of the first of them.
    fn set_pinned_turn(&self, pinned: usize) {
        self.counters().pinned.set(pinned as u64);
        if pinned > 0 {
            let turns = &self.queues.turns;
            let turn = self.runs() + PINNED_INTERVAL;
            turns.pinned.set(turn.min(turns.pinned.get()));
            turns.next.set(turn.min(turns.next.get()));
        }
    }

    /// Takes a task that arrived while this worker had nothing to run: a pinned one, or one that a
    /// hook has pushed.
    pub(in crate::worker) fn next_own(&self) -> Option<Runnable> {
        self.next_pinned().or_else(|| self.queues.pop())
    }

    /// Returns whether this worker's own queues hold a task.
    pub(in crate::worker) fn has_own(&self) -> bool {
        !self.queues.is_empty() || self.has_inbox()
    }

    /// Makes a round due. Called when the current task has used up its budget, which may have taken
    /// long.
    pub(in crate::worker) fn hurry_turn(&self) {
        self.queues.turns.round.set(0);
        self.queues.turns.next.set(0);
    }

    /// Makes a look at the other workers due after that many runs, if none is due earlier.
    pub(in crate::worker) fn look_within(&self, runs: u64) {
        let (turns, run) = (&self.queues.turns, self.runs() + runs);
        turns.look.set(run.min(turns.look.get()));
        turns.next.set(run.min(turns.next.get()));
    }

    /// Moves a batch from the injector to this worker's own queues, and returns the first task.
    pub(in crate::worker) fn take_injected(&self) -> Option<Runnable> {
        let high = first_of_batch(&self.shared().high_injector, |runnable| {
            self.queues.deques.push_high(runnable);
        });
        high.or_else(|| self.take_batch())
    }

    /// Moves a batch of the normal lane from the injector to this worker's queue, and returns the
    /// first task.
    fn take_batch(&self) -> Option<Runnable> {
        first_of_batch(&self.shared().injector, |runnable| {
            self.queues.push_beyond(runnable);
        })
    }

    /// Returns whether a task is due that only this worker can run.
    pub(in crate::worker) fn has_pinned(&self) -> bool {
        self.has_inbox() || self.queues.has_pinned()
    }

    fn has_inbox(&self) -> bool {
        !self.shared().inboxes[self.index()].is_empty()
    }
}

impl Running<'_> {
    /// Takes the next task of this worker, without searching the other workers' queues. If another
    /// one has just yielded, announces what is left.
    // Always: it has a second caller at the end of a worker, and the compiler would inline neither
    // it nor `run` into the loop of `work`. Together that costs 78 instructions for each task.
    #[inline(always)]
    pub(in crate::worker) fn next(&self) -> Option<Runnable> {
        if let Some(runnable) = self.queues.slot.take() {
            self.queues
                .turns
                .slot_streak
                .set(self.queues.turns.slot_streak.get() + 1);
            return Some(runnable);
        }
        self.queues.turns.slot_streak.set(0);
        if self.runs() >= self.queues.turns.next.get() {
            if let Some(late) = self.next_late() {
                return Some(late);
            }
        }
        // Not a chain of closures, which the compiler does not always inline.
        let mut next = self.next_high();
        if next.is_none() {
            next = self.next_normal();
        }
        if next.is_none() {
            next = (self.next_pinned())
                .or_else(|| self.next_injected())
                .or_else(|| self.queues.deques.pop_high());
        }
        if !self.queues.has_yielded.get() {
            return next;
        }
        // The take stands for the fence of the push (`sleep.rs`).
        self.queues.has_yielded.set(false);
        let (shared, deques) = (self.shared(), &self.queues.deques);
        match (shared.sleep).notify_after_take(shared.need(), || deques.is_empty()) {
            Woke::Nobody => next,
            woke => self.woke_with(woke, next),
        }
    }

    /// Makes a round or takes a pinned task, if that is due.
    #[cold]
    fn next_late(&self) -> Option<Runnable> {
        self.announce_yield();
        let turns = &self.queues.turns;
        let mut late = None;
        if self.runs() >= turns.look.get() {
            turns.look.set(self.runs() + self.look_around());
        }
        if self.runs() >= turns.round.get() {
            late = self.make_round();
        }
        if late.is_none() && self.runs() >= turns.pinned.get() {
            if self.has_pinned() && self.queues.deques.has_normal() {
                // It runs before a task in the queue that may not have been announced, because it
                // was next.
                self.notify();
            }
            late = self.next_pinned();
        }
        let next = turns.round.get().min(turns.pinned.get());
        turns.next.set(next.min(turns.look.get()));
        late
    }

    /// Attends to the driver, brings what other threads have queued, and takes a task of those that
    /// could otherwise wait forever: from the injector, or in some rounds the oldest spawned one.
    fn make_round(&self) -> Option<Runnable> {
        let Queues { deques, turns, .. } = &self.queues;
        let runs = self.runs();
        let interval = self.attend_in_turn().unwrap_or(INJECTOR_INTERVAL);
        turns.round.set(runs + interval.clamp(1, INJECTOR_INTERVAL));
        if runs < turns.pause.get() {
            return None;
        }
        let rounds = turns.rounds.get() + 1;
        turns.rounds.set(rounds);
        self.fetch_pinned();
        // At least one, however many there are already: new tasks of this worker must not keep the
        // injected ones out forever.
        let room = BATCH.saturating_sub(deques.high()).max(1);
        let injector = &self.shared().high_injector;
        injector.take(room, |runnable| deques.push_high(runnable));
        if deques.high() > 0 {
            self.notify();
        }
        let is_oldest = rounds % OLDEST_INTERVAL == 0;
        let oldest = is_oldest.then(|| self.next_oldest()).flatten();
        let late = oldest.or_else(|| self.tell_of_injected(self.take_batch()));
        if late.is_some() {
            turns.pause.set(runs + ROUND_PAUSE);
        }
        late
    }

    /// Takes from the injector outside of a search, and notifies the others if more than the
    /// returned task was there.
    pub(in crate::worker) fn next_injected(&self) -> Option<Runnable> {
        self.tell_of_injected(self.take_injected())
    }

    /// Notifies the others after a batch was taken from the injector outside of a search, if more
    /// than its first task was there. Returns that one.
    fn tell_of_injected(&self, first: Option<Runnable>) -> Option<Runnable> {
        let first = first?;
        if self.queues.deques.is_empty() && !self.shared().has_injected() {
            return Some(first);
        }
        let shared = self.shared();
        self.woke_with(shared.sleep.notify(shared.need()), Some(first))
    }

    /// As [`woke`](Running::woke), with a task in hand. Returns that task, or the next one.
    #[cold]
    fn woke_with(&self, woke: Woke, task: Option<Runnable>) -> Option<Runnable> {
        match woke {
            Woke::Nobody => task,
            woke @ Woke::One => {
                self.woke(woke);
                task
            }
            woke @ Woke::Away(_) => {
                // Its owner's waker may wait for this task.
                task.into_iter().for_each(|task| self.give_back(task));
                self.woke(woke);
                self.next_queued()
            }
        }
    }
}

/// Takes a batch from an injector, passes all but the first task to `push`, and returns the first.
fn first_of_batch(injector: &Injector, push: impl Fn(Runnable)) -> Option<Runnable> {
    let mut first = None;
    injector.take(BATCH, |runnable| match first {
        None => first = Some(runnable),
        Some(_) => push(runnable),
    });
    first
}

#[cfg(test)]
mod tests;
