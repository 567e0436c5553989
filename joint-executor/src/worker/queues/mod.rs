//! The queues of one worker. `turn.rs` has the scheduling policy, [`Queues::next`]: the order in
//! which they are served.

use alloc::{collections::VecDeque, sync::Arc};
use core::cell::{Cell, RefCell};

use self::turn::Turns;
use super::shared::{Injector, Runnable, Shared};
use crate::{deques::Deques, metrics::Counters, policy::TURN, registry::Lane};

mod turn;

pub(super) use self::turn::Duties;

pub(super) struct Queues {
    /// What other threads push to, and take from.
    pub(super) shared: Arc<Shared>,
    /// The worker's index there.
    pub(super) index: usize,
    /// The LIFO slot.
    slot: Cell<Option<Runnable>>,
    /// The next activity of this worker.
    after: Cell<After>,
    /// Whether a task was queued after the last take because it has yielded.
    has_yielded: Cell<bool>,
    /// The tasks that other workers may take.
    pub(super) deques: Deques<Runnable>,
    /// The tasks that only this worker may run.
    pinned: RefCell<VecDeque<Runnable>>,
    /// The number of runs so far.
    pub(super) runs: Cell<u64>,
    turns: Turns,
}

/// The activity of a worker after a call that may push tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Anything, after any length of time: a poll or a stranger's code is running.
    Anything,
    /// It runs the task that is being woken, which waited for the one that has just ended. No other
    /// code runs before.
    Slot,
    /// It runs the next task of its queues. No other code runs before.
    Queue,
}

impl Queues {
    pub(super) fn new(shared: Arc<Shared>, index: usize, deques: Deques<Runnable>) -> Self {
        Self {
            shared,
            index,
            slot: Cell::new(None),
            after: Cell::new(After::Anything),
            has_yielded: Cell::new(false),
            deques,
            pinned: RefCell::default(),
            runs: Cell::new(0),
            turns: Turns::new(),
        }
    }

    #[inline]
    pub(super) fn counters(&self) -> &Counters {
        &self.shared.counters[self.index]
    }

    #[inline]
    pub(super) fn runs(&self) -> u64 {
        self.runs.get()
    }

    /// Counts a run that begins.
    #[inline(always)]
    pub(super) fn begin_run(&self) {
        self.runs.set(self.runs.get() + 1);
        self.counters().polls.set(self.runs.get());
    }

    /// Calls `f`, having declared what this worker does next.
    #[inline]
    pub(super) fn before(&self, after: After, f: impl FnOnce()) {
        let outer = self.after.replace(after);
        f();
        self.after.set(outer);
    }

    pub(super) fn after(&self) -> After {
        self.after.get()
    }

    pub(super) fn take_slot(&self) -> Option<Runnable> {
        self.slot.take()
    }

    /// Puts a task that was woken into the slot, if that is open and its turn. Returns the task
    /// that has no place there.
    // Always: a wake-up inlines it, or pays for a call, 20 instructions.
    #[inline(always)]
    pub(super) fn fill_slot(&self, runnable: Runnable) -> Option<Runnable> {
        match self.after.get() == After::Slot && self.turns.slot_is_due() {
            true => self.slot.replace(Some(runnable)),
            false => Some(runnable),
        }
    }

    /// Pushes a task of the normal lane behind all others in the queue, even if that is full.
    pub(super) fn push_beyond(&self, runnable: Runnable) {
        let pushed = self.deques.push_woken(runnable, usize::MAX);
        pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
    }

    /// Queues a task that only this worker may run.
    pub(super) fn push_pinned(&self, runnable: Runnable) {
        let mut pinned = self.pinned.borrow_mut();
        pinned.push_back(runnable);
        self.set_pinned_turn(pinned.len());
    }

    /// Queues a runnable again that was taken.
    pub(super) fn give_back(&self, runnable: Runnable) {
        match runnable.metadata().lane() {
            Lane::Normal => self.push_beyond(runnable),
            Lane::High => self.deques.push_high(runnable),
            Lane::Pinned(_) => self.push_pinned(runnable),
        }
    }

    /// Records that a task that has yielded is about to be pushed behind all others.
    #[inline(always)]
    pub(super) fn before_yield(&self) {
        if self.deques.woken() == 0 {
            // Otherwise its turn could come before many of the spawned tasks have run.
            self.turns.begin_streak();
        }
        self.has_yielded.set(true);
    }

    /// Whether a task has yielded after the last take, and nobody was told. The caller tells the
    /// others.
    pub(super) fn take_yield(&self) -> bool {
        self.has_yielded.take()
    }

    /// Whether there is one task that another worker could take, which may not be announced.
    pub(super) fn has_one(&self) -> bool {
        self.shared.stealers[self.index].len() == 1
    }

    /// Returns whether all queues are empty. The slot is not looked at: an idle worker's is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.deques.is_empty() && self.pinned.borrow().is_empty()
    }

    /// Returns whether this worker's own queues hold a task, or its inbox does.
    pub(super) fn has_own(&self) -> bool {
        !self.is_empty() || self.has_inbox()
    }

    /// Returns whether a task is due that only this worker can run.
    pub(super) fn has_pinned(&self) -> bool {
        self.has_inbox() || !self.pinned.borrow().is_empty()
    }

    fn has_inbox(&self) -> bool {
        !self.shared.inboxes[self.index].is_empty()
    }

    /// Takes a task from any of the queues but the pinned one: first all of high priority, then all
    /// that were woken, oldest first.
    pub(super) fn pop(&self) -> Option<Runnable> {
        let next = self.slot.take().or_else(|| self.deques.pop_high());
        next.or_else(|| self.deques.pop_woken())
            .or_else(|| self.deques.pop_newest_spawned())
    }

    /// Takes a task from any of this worker's queues, first a pinned one.
    pub(super) fn next_queued(&self) -> Option<Runnable> {
        self.next_pinned().or_else(|| self.pop())
    }

    pub(super) fn next_pinned(&self) -> Option<Runnable> {
        if self.has_inbox() {
            self.fetch_pinned();
        }
        let mut pinned = self.pinned.borrow_mut();
        let next = pinned.pop_front()?;
        self.turns.pinned_has_run();
        self.set_pinned_turn(pinned.len());
        Some(next)
    }

    /// Moves a part of the inbox into the pinned queue.
    fn fetch_pinned(&self) {
        let mut pinned = self.pinned.borrow_mut();
        // At least one, however many there are already: pinned tasks that wake themselves must not
        // keep the inbox out forever.
        let room = (TURN as usize).saturating_sub(pinned.len()).max(1);
        let inbox = &self.shared.inboxes[self.index];
        inbox.take(room, |runnable| pinned.push_back(runnable));
        self.set_pinned_turn(pinned.len());
    }

    /// Records the number of pinned tasks, and schedules the turn of the first of them.
    fn set_pinned_turn(&self, pinned: usize) {
        self.counters().pinned.set(pinned as u64);
        if pinned > 0 {
            self.turns.pinned_waits(self.runs());
        }
    }

    /// Takes up to `most` tasks from the injector. Moves all but the first one to this worker's own
    /// queues, and returns that.
    pub(super) fn take_injected(&self, most: u32) -> Option<Runnable> {
        let push = |high| self.deques.push_high(high);
        let high = first_of_batch(&self.shared.high_injector, most, push);
        high.or_else(|| self.take_normal(most))
    }

    /// Does the same in the normal lane.
    fn take_normal(&self, most: u32) -> Option<Runnable> {
        let push = |normal| self.push_beyond(normal);
        first_of_batch(&self.shared.injector, most, push)
    }

    #[cfg(test)]
    pub(super) fn lengths(&self) -> [usize; 3] {
        let pinned = self.pinned.borrow().len();
        let deques = &self.deques;
        [deques.spawned() + deques.woken(), deques.high(), pinned]
    }
}

/// Takes a batch from an injector, passes all but the first task to `push`, and returns the first.
fn first_of_batch(injector: &Injector, most: u32, push: impl Fn(Runnable)) -> Option<Runnable> {
    let mut first = None;
    injector.take(most as usize, |runnable| match first {
        None => first = Some(runnable),
        Some(_) => push(runnable),
    });
    first
}
