//! The scheduling policy: which task a worker runs next.
//!
//! The LIFO slot comes first. It holds the task that waited for the one that has just ended. Then
//! come the high lane, the tasks that the worker has spawned, the tasks in its queue, the tasks
//! pinned to it, and last the injector. Spawned tasks run newest first, all others oldest first.
//! Every source that comes late in this order comes first at regular intervals (`policy.rs`), and
//! so does the oldest spawned task. No task starves behind others, however they
//! wake each other. `docs/executor.md` has the bounds that follow from the constants.
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
    policy::{
        BATCH, HURRIED_INTERVAL, INJECTOR_INTERVAL, OLDEST_INTERVAL, PINNED_INTERVAL,
        RESCUE_INTERVAL, STREAK,
    },
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
    /// The number of consecutive runs from the high lane, so far.
    high_streak: Cell<u32>,
    /// The number of spawned tasks that run before the queue is due.
    spawned_left: Cell<u32>,
    /// While the queue is due: the number of its tasks that run before the next spawned one, or 0
    /// if it has just become due.
    woken_left: Cell<u32>,
    /// The run at which the next late source is due.
    next: Cell<u64>,
    /// The run at which the oldest spawned task is due.
    oldest: Cell<u64>,
    /// The run at which the injector is due.
    injector: Cell<u64>,
    /// The first run at which the injector may be due again.
    injector_pause: Cell<u64>,
    /// The run at which the driver is due.
    driver: Cell<u64>,
    /// The run at which a pinned task is due, or [`NEVER`].
    pinned: Cell<u64>,
    /// The first run at which a pinned task may be due again.
    pinned_pause: Cell<u64>,
    /// The number of turns of the injector that pass before the next look for stuck workers.
    rescue: Cell<u64>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            spawned_left: Cell::new(STREAK),
            oldest: Cell::new(OLDEST_INTERVAL),
            pinned: Cell::new(NEVER),
            ..Self::default()
        }
    }

    /// Begins a streak of spawned tasks.
    #[inline(always)]
    pub(super) fn begin_streak(&self) {
        self.spawned_left.set(STREAK);
        self.woken_left.set(0);
    }

    /// Records at which run the next late source is due.
    fn schedule(&self) {
        let dues = [&self.injector, &self.driver, &self.oldest, &self.pinned];
        let first = dues.into_iter().map(Cell::get).min();
        self.next.set(first.unwrap_or(NEVER));
    }

    /// Returns whether the next run may come from the slot.
    #[inline]
    pub(super) fn slot_is_due(&self) -> bool {
        self.slot_streak.get() < STREAK
    }
}

impl Worker {
    /// Takes a spawned task or one from the queue, by turns.
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
        turns.spawned_left.set(STREAK);
        deques.pop_woken()
    }

    /// Takes a task from the queue, which is due.
    #[inline(never)]
    fn next_after_streak(&self) -> Option<Runnable> {
        let Queues { deques, turns, .. } = &self.queues;
        let mut left = turns.woken_left.get();
        if left == 0 {
            // Not those that are queued while these run, such as a task that yields each time.
            left = (deques.woken() as u32).min(STREAK);
        }
        if left > 0 {
            if let Some(woken) = deques.pop_woken() {
                match left {
                    1 => turns.begin_streak(),
                    _ => turns.woken_left.set(left - 1),
                }
                return Some(woken);
            }
        }
        turns.begin_streak();
        self.next_normal()
    }

    #[inline]
    fn next_high(&self) -> Option<Runnable> {
        if !self.queues.deques.has_high() {
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
        let turns = &self.queues.turns;
        turns.pinned.set(NEVER);
        if next.is_some() {
            turns.pinned_pause.set(self.runs() + PINNED_INTERVAL);
        }
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
    pub(in crate::worker) fn next_own(&self) -> Option<Runnable> {
        self.next_pinned().or_else(|| self.queues.pop())
    }

    /// Returns whether this worker's own queues hold a task.
    pub(in crate::worker) fn has_own(&self) -> bool {
        !self.queues.is_empty() || self.has_inbox()
    }

    /// Records the number of pinned tasks, and schedules the turn of the first of them.
    pub(in crate::worker) fn set_pinned_turn(&self, pinned: usize) {
        self.counters().pinned.set(pinned as u64);
        if pinned > 0 {
            let turns = &self.queues.turns;
            let turn = self.runs() + PINNED_INTERVAL;
            turns.pinned.set(turn.min(turns.pinned.get()));
            turns.next.set(turn.min(turns.next.get()));
        }
    }

    /// Makes the driver due, and the injector unless a task of it has just run. Called when the
    /// current task has used up its budget, which may have taken long.
    pub(in crate::worker) fn hurry_turn(&self) {
        let turns = &self.queues.turns;
        turns.driver.set(0);
        let injector = turns.injector.get().min(turns.injector_pause.get());
        turns.injector.set(injector);
        turns.next.set(0);
    }

    /// Looks into the inbox, and makes a pinned task due, unless one has just run.
    fn bring_pinned(&self) {
        self.fetch_pinned();
        if self.queues.has_pinned() {
            let turns = &self.queues.turns;
            let turn = self.runs().max(turns.pinned_pause.get());
            turns.pinned.set(turn.min(turns.pinned.get()));
        }
    }

    /// Takes the oldest spawned task, which is due, as a part of the streak of spawned tasks. If
    /// the queue is due as well, takes a task from there, and the spawned one is next.
    fn next_oldest(&self) -> Option<Runnable> {
        let Queues { deques, turns, .. } = &self.queues;
        let left = turns.spawned_left.get();
        if left == 0 {
            turns.woken_left.set(1);
            return self.next_after_streak();
        }
        turns.oldest.set(self.runs() + OLDEST_INTERVAL);
        let oldest = deques.pop_oldest_spawned();
        turns.spawned_left.set(left - u32::from(oldest.is_some()));
        oldest
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
            if let Some(late) = self.next_in_turn() {
                return Some(late);
            }
        }
        let next = (self.next_high())
            .or_else(|| self.next_normal())
            .or_else(|| self.next_pinned())
            .or_else(|| self.next_injected())
            .or_else(|| self.queues.deques.pop_high());
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

    /// Takes a task from a source that is due. The next run looks at those that are left.
    #[cold]
    fn next_in_turn(&self) -> Option<Runnable> {
        self.announce_yield();
        let turns = &self.queues.turns;
        let runs = self.runs();
        let is_injectors = runs >= turns.injector.get();
        if is_injectors || runs >= turns.driver.get() {
            turns.driver.set(runs + INJECTOR_INTERVAL);
            if let Some(interval) = self.attend_in_turn() {
                turns
                    .driver
                    .set(runs + interval.clamp(1, INJECTOR_INTERVAL));
            }
        }
        let late = self.next_late(is_injectors);
        turns.schedule();
        late
    }

    /// Takes a task from a source that is due: one of the normal lane from the injector, or else
    /// the oldest spawned one, or else a pinned one. Injected tasks of the high lane are moved to
    /// this worker's high queue, which comes first anyway.
    fn next_late(&self, is_injectors: bool) -> Option<Runnable> {
        let turns = &self.queues.turns;
        let runs = self.runs();
        if is_injectors {
            turns.injector.set(runs + INJECTOR_INTERVAL);
            self.bring_pinned();
            self.rescue_in_turn();
            // At least one, however many there are already: new tasks of this worker must not keep
            // the injected ones out forever.
            let room = BATCH.saturating_sub(self.queues.deques.high()).max(1);
            let injector = &self.shared().high_injector;
            injector.take(room, |runnable| self.queues.deques.push_high(runnable));
            let injected = self.take_batch();
            if injected.is_some() {
                turns.injector_pause.set(runs + HURRIED_INTERVAL);
                return self.tell_of_injected(injected);
            }
            if self.queues.deques.has_high() {
                self.notify();
            }
        }
        if runs >= turns.oldest.get() {
            let spawned = self.next_oldest();
            if spawned.is_some() {
                return spawned;
            }
        }
        if runs < turns.pinned.get() {
            return None;
        }
        if self.has_pinned() && self.queues.deques.has_normal() {
            // It runs before a task in the queue that may not have been announced, because it was
            // next.
            self.notify();
        }
        self.next_pinned()
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
