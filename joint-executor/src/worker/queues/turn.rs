//! The scheduling policy, [`Queues::next`]: which task a worker runs next.
//!
//! The LIFO slot comes first. It holds the task that waited for the one that has just ended. Then
//! come the high lane, the tasks that the worker has spawned, the tasks in its queue, the tasks
//! pinned to it, and last the injector. Spawned tasks run newest first, all others oldest first.
//! No task starves behind others, however they wake each other: after a streak of tasks of one kind
//! the next kind has a run, pinned tasks have one in four, and every 32 runs, or sooner if runs are
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
    policy::{FEW, TURN},
    sleep::Woke,
    worker::shared::Runnable,
};

/// What a worker does between two runs besides taking its next task.
pub(in crate::worker) trait Duties: Copy {
    /// Wakes another worker for what is queued, if nobody would find it.
    fn notify(&self);

    /// Does what a worker that was woken leaves to do.
    fn woke(&self, woke: Woke);

    /// Announces a task that has yielded, unless it is alone and runs next.
    fn announce_yield(&self);

    /// Looks at the other workers, if that is due. Returns the number of runs after which to look
    /// at the clock again.
    fn look_around(&self) -> u64;

    /// Attends to the driver. Returns the number of runs after which it is due again, if it is in
    /// use.
    fn attend_in_turn(&self) -> Option<u64>;
}

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
            spawned_left: Cell::new(TURN),
            pinned: Cell::new(NEVER),
            ..Self::default()
        }
    }

    /// Begins a streak of spawned tasks.
    #[inline(always)]
    pub(super) fn begin_streak(&self) {
        self.spawned_left.set(TURN);
    }

    /// Returns whether the next run may come from the slot.
    #[inline]
    pub(super) fn slot_is_due(&self) -> bool {
        self.slot_streak.get() < TURN
    }

    /// Makes something due in that run, if its turn is not earlier.
    fn set_due(&self, turn: &Cell<u64>, run: u64) {
        let run = run.min(turn.get());
        turn.set(run);
        self.next.set(run.min(self.next.get()));
    }

    /// Schedules the first of the pinned tasks, of which there are some after that many runs.
    pub(super) fn pinned_waits(&self, runs: u64) {
        self.set_due(&self.pinned, runs + FEW);
    }

    /// Ends the turn of a pinned task.
    pub(super) fn pinned_has_run(&self) {
        self.pinned.set(NEVER);
    }
}

impl Queues {
    /// Takes the next task of this worker, without searching the other workers' queues. If another
    /// one has just yielded, announces what is left.
    // Always: it has a second caller at the end of a worker, and the compiler would inline neither
    // it nor `run` into the loop of `work`. Together that costs 78 instructions for each task.
    #[inline(always)]
    pub(in crate::worker) fn next(&self, worker: impl Duties) -> Option<Runnable> {
        let turns = &self.turns;
        if let Some(runnable) = self.slot.take() {
            turns.slot_streak.set(turns.slot_streak.get() + 1);
            return Some(runnable);
        }
        turns.slot_streak.set(0);
        if self.runs() >= turns.next.get() {
            if let Some(late) = self.next_late(worker) {
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
                .or_else(|| self.tell_of_injected(worker, self.take_injected(TURN)))
                .or_else(|| self.deques.pop_high());
        }
        if !self.has_yielded.get() {
            return next;
        }
        // The take stands for the fence of the push (`sleep.rs`).
        self.has_yielded.set(false);
        let shared = &self.shared;
        match (shared.sleep).notify_after_take(shared.need(), || self.deques.is_empty()) {
            Woke::Nobody => next,
            woke => self.woke_with(worker, woke, next),
        }
    }

    #[inline]
    fn next_high(&self) -> Option<Runnable> {
        if self.deques.high() == 0 {
            return None;
        }
        let streak = self.turns.high_streak.get();
        if streak == TURN {
            self.turns.high_streak.set(0);
            return None;
        }
        self.turns.high_streak.set(streak + 1);
        self.deques.pop_high()
    }

    /// Takes a spawned task, or after a streak of them one from the queue.
    #[inline(always)]
    fn next_normal(&self) -> Option<Runnable> {
        let left = self.turns.spawned_left.get();
        if left == 0 {
            return self.next_after_streak();
        }
        if let Some(spawned) = self.deques.pop_newest_spawned() {
            self.turns.spawned_left.set(left - 1);
            return Some(spawned);
        }
        self.turns.begin_streak();
        self.deques.pop_woken()
    }

    #[inline(never)]
    fn next_after_streak(&self) -> Option<Runnable> {
        self.turns.begin_streak();
        let woken = self.deques.pop_woken();
        woken.or_else(|| self.next_normal())
    }

    /// Makes a round or takes a pinned task, if that is due.
    #[cold]
    fn next_late(&self, worker: impl Duties) -> Option<Runnable> {
        let has_yielded_first = self.has_yielded.get() && self.deques.woken() == 1;
        worker.announce_yield();
        let turns = &self.turns;
        let mut late = None;
        if self.runs() >= turns.look.get() {
            turns.look.set(self.runs() + worker.look_around());
        }
        if self.runs() >= turns.round.get() {
            late = self.make_round(worker);
        }
        if late.is_none() && self.runs() >= turns.pinned.get() {
            if self.has_pinned() && self.deques.has_normal() {
                // It runs before a task in the queue that may not have been announced, because it
                // was next.
                worker.notify();
            }
            late = self.next_pinned();
        }
        if has_yielded_first && late.is_none() && self.deques.woken() > 1 {
            self.yield_again();
        }
        let next = turns.round.get().min(turns.pinned.get());
        turns.next.set(next.min(turns.look.get()));
        late
    }

    /// Moves the first task of the queue, which has just yielded, behind those that the driver has
    /// woken since. They were ready before the yield. The take that follows announces it again.
    fn yield_again(&self) {
        if let Some(first) = self.deques.pop_woken() {
            self.before_yield();
            self.push_beyond(first);
        }
    }

    /// Attends to the driver, brings what other threads have queued, and takes a task of those that
    /// could otherwise wait forever: from the injector, or in some rounds the oldest spawned one.
    fn make_round(&self, worker: impl Duties) -> Option<Runnable> {
        let Self { deques, turns, .. } = self;
        let runs = self.runs();
        let interval = worker.attend_in_turn().unwrap_or(TURN.into());
        turns.round.set(runs + interval.clamp(1, TURN.into()));
        if runs < turns.pause.get() {
            return None;
        }
        let rounds = turns.rounds.get() + 1;
        turns.rounds.set(rounds);
        self.fetch_pinned();
        // At least one, however many there are already: new tasks of this worker must not keep the
        // injected ones out forever.
        let room = (TURN as usize).saturating_sub(deques.high()).max(1);
        let injector = &self.shared.high_injector;
        injector.take(room, |runnable| deques.push_high(runnable));
        if deques.high() > 0 {
            worker.notify();
        }
        let is_oldest = rounds % FEW == 0;
        let oldest = is_oldest.then(|| self.next_oldest()).flatten();
        let late = oldest.or_else(|| self.tell_of_injected(worker, self.take_normal(TURN)));
        if late.is_some() {
            turns.pause.set(runs + FEW);
        }
        late
    }

    /// Takes the oldest spawned task, as a part of the streak, unless that is over and another
    /// kind waits.
    fn next_oldest(&self) -> Option<Runnable> {
        let left = &self.turns.spawned_left;
        if left.get() == 0 && self.deques.woken() > 0 {
            return None;
        }
        let oldest = self.deques.pop_oldest_spawned()?;
        left.set(left.get().saturating_sub(1));
        Some(oldest)
    }

    /// Notifies the others after a batch was taken from the injector outside of a search, if more
    /// than its first task was there. Returns that one.
    fn tell_of_injected(&self, worker: impl Duties, first: Option<Runnable>) -> Option<Runnable> {
        let first = first?;
        let shared = &self.shared;
        if self.deques.is_empty() && !shared.has_injected() {
            return Some(first);
        }
        self.woke_with(worker, shared.sleep.notify(shared.need()), Some(first))
    }

    /// As [`woke`](Duties::woke), with a task in hand. Returns that task, or the next one.
    #[cold]
    fn woke_with(
        &self,
        worker: impl Duties,
        woke: Woke,
        task: Option<Runnable>,
    ) -> Option<Runnable> {
        match woke {
            Woke::Nobody => task,
            woke @ Woke::One => {
                worker.woke(woke);
                task
            }
            woke @ Woke::Away(_) => {
                // Its owner's waker may wait for this task.
                if let Some(task) = task {
                    self.give_back(task);
                }
                worker.woke(woke);
                self.next_queued()
            }
        }
    }

    /// Makes a round due. Called when the current task has used up its budget, which may have taken
    /// long.
    pub(in crate::worker) fn hurry_turn(&self) {
        self.turns.set_due(&self.turns.round, 0);
    }

    /// Makes a look at the other workers due after that many runs, if none is due earlier.
    pub(in crate::worker) fn look_within(&self, runs: u64) {
        self.turns.set_due(&self.turns.look, self.runs() + runs);
    }
}

#[cfg(test)]
mod tests;
