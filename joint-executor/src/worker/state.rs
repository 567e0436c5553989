//! The states of a worker, as values: to have one proves the state.
//!
//! | value | the worker | it may call the code of a stranger |
//! |---|---|---|
//! | [`Running`] | runs tasks, or whatever else takes time | yes |
//! | [`Searching`] | has nothing to run, and looks for work: it is a lookout (`sleep.rs`) | no |
//! | none: [`Searching::park`](Searching) has it | is parked, on its thread or in the driver | no |
//!
//! A stranger's code is a waker, a hook, a schedule function, a closure, and the drop of any of
//! them. It may take any time, and may wait for whatever is due on this worker. So everything that
//! calls it is a function of [`Running`], which a searcher does not have: others would rely on it
//! as a lookout meanwhile. What is a function of [`Worker`] calls none, and leads to no
//! [`Running`].
//!
//! Outside of polls there is one gate for it, [`Running::stranger`].

use core::{ops::Deref, task::Waker};

use super::{Worker, queues::After};
use crate::{guard::guarded, policy::FIRST_CLOCK, sleep::Woke};

/// A worker that runs.
pub(crate) struct Running<'w>(&'w Worker);

/// A worker that searches.
pub(super) struct Searching<'w>(&'w Worker);

impl Deref for Running<'_> {
    type Target = Worker;

    #[inline(always)]
    fn deref(&self) -> &Worker {
        self.0
    }
}

impl Deref for Searching<'_> {
    type Target = Worker;

    fn deref(&self) -> &Worker {
        self.0
    }
}

impl<'w> Running<'w> {
    /// A worker that has begun, or whose poll this is: only a worker that runs polls. Called where
    /// a thread becomes a worker and where a poll asks which worker it is on (`current.rs`,
    /// `stepped.rs`), and nowhere else.
    #[inline(always)]
    pub(super) fn of(worker: &'w Worker) -> Self {
        Self(worker)
    }

    /// Begins to search.
    pub(super) fn search(self) -> Searching<'w> {
        self.judge_own_polls();
        self.shared().sleep.search();
        Searching(self.0)
    }

    /// Calls the code of a stranger, and catches its panic. What is due on this worker is announced
    /// before, and nothing that the code wakes goes to the LIFO slot.
    pub(super) fn stranger(&self, f: impl FnOnce()) {
        self.show_slot();
        if self.queues.has_yielded.take() || self.has_one() {
            self.notify();
        }
        self.queues.before(After::Anything, || guarded(f));
    }

    /// Wakes strangers, one after the other.
    pub(super) fn wake_strangers(&self, wakers: impl IntoIterator<Item = Waker>) {
        (wakers.into_iter()).for_each(|waker| self.stranger(|| waker.wake()));
    }

    /// Announces what was queued after the last take because it has yielded, unless it is alone and
    /// runs next. Called before anything that may come between it and the next take.
    pub(super) fn announce_yield(&self) {
        if self.queues.has_yielded.take() && !self.has_one() {
            self.notify();
        }
    }

    /// Announces what has been pushed.
    #[inline]
    pub(super) fn notify(&self) {
        self.notify_unless(|| false);
    }

    #[inline]
    pub(super) fn notify_unless(&self, runs_next: impl FnOnce() -> bool) {
        let woke = (self.shared().sleep).notify_unless(self.shared().need(), runs_next);
        if !matches!(woke, Woke::Nobody) {
            self.woke(woke);
        }
    }

    /// Counts a worker that was woken, and wakes it if its thread is away.
    #[cold]
    pub(super) fn woke(&self, woke: Woke) {
        self.counters().wakes.increment();
        self.wake_strangers(woke.away());
    }
}

impl<'w> Searching<'w> {
    /// A worker that has come back from its sleep.
    pub(super) fn back(worker: &'w Worker) -> Self {
        Self(worker)
    }

    /// The worker, for longer than the search.
    pub(super) fn worker(&self) -> &'w Worker {
        self.0
    }

    /// Ends the search. Wakes another worker if this one was the last lookout and there is more to
    /// do. Also returns the waker to call if the chosen worker is hosted and its thread is away.
    pub(super) fn stop_first(self) -> (Running<'w>, Option<Waker>) {
        let (running, shared) = (Running(self.0), self.0.shared());
        let has_work = || shared.last_look(|all| all.has_work()) || self.leaves_driver();
        let woke = shared.sleep.found(shared.need(), has_work);
        running.look_within(FIRST_CLOCK);
        running.lookout.begin(running.runs());
        (running, woke.away())
    }

    /// Ends the search, with nothing in hand.
    pub(super) fn stop(self) -> Running<'w> {
        let (running, away) = self.stop_first();
        running.wake_strangers(away);
        running
    }
}
