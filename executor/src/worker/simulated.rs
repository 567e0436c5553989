//! What a simulation does with a worker. Instead of the worker's own loop, the simulation takes all
//! that is queued, and decides what runs next.

use alloc::vec::Vec;
use core::ptr::NonNull;

use super::{
    Worker,
    shared::{Runnable, Shared},
};
use crate::{guard::guarded, hooks::Hooks, registry::Lane};
use joint::{task::Polled, waker::budget};
use joint_switch::{AtomicUsize, order};

/// What the executors of a simulation know of it.
pub(crate) struct Simulation {
    /// Tells it from all others of the process. It is not 0.
    number: u64,
    /// Whether something has been pushed to a queue of any of them from elsewhere than a worker,
    /// since the simulation looked last: 0 or 1.
    has_pushed: AtomicUsize,
}

impl Simulation {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            has_pushed: AtomicUsize::new(0),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Something has been pushed.
    #[cold]
    pub(super) fn pushed(&self) {
        // ORDERING: pushed. Relaxed: the threads of a simulation take turns, which orders all that
        // they do. A push of a thread that is none of them may be missed, and is then found when
        // nothing is ready.
        self.has_pushed.store(1, order!(pushed: Relaxed));
    }

    /// Whether something has been pushed since the last call.
    #[inline(always)]
    pub(crate) fn take_pushed(&self) -> bool {
        // ORDERING: pushed_look, pushed_taken. Relaxed: as for `pushed`.
        let has_pushed = self.has_pushed.load(order!(pushed_look: Relaxed)) != 0;
        if has_pushed {
            self.has_pushed.store(0, order!(pushed_taken: Relaxed));
        }
        has_pushed
    }
}

/// Which workers may run a runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunBy {
    Any,
    Only(usize),
}

impl RunBy {
    pub(crate) fn of(runnable: &Runnable) -> Self {
        match runnable.metadata().home() {
            Some(home) => match home.lane {
                Lane::Pinned(worker) => Self::Only(worker),
                Lane::Normal | Lane::High => Self::Any,
            },
            None => Self::Any,
        }
    }
}

impl Worker {
    /// Begins as a worker's thread does.
    pub(crate) fn begin_simulated(&self) {
        self.as_current(|| Hooks::worker(&self.shared().hooks.on_thread_start, self.index()));
    }

    /// Runs a runnable once, with a budget of so many operations if one is given. Returns it if it
    /// was woken meanwhile. The current code must be this worker's.
    #[inline(always)]
    pub(crate) fn run_simulated(
        &self,
        runnable: Runnable,
        operations: Option<u64>,
    ) -> Option<Runnable> {
        if self.shared().is_closed() {
            self.discard_inside(runnable);
            return None;
        }
        match operations {
            None => budget::refill(),
            Some(operations) => budget::refill_to(operations),
        }
        match self.poll(runnable) {
            Polled::Woken(runnable) => return Some(runnable),
            Polled::Ended(Some(waiter)) => guarded(|| waiter.wake()),
            Polled::Pending | Polled::Ended(None) => {}
        }
        None
    }

    /// Drops a runnable, which cancels its task, as this worker.
    #[cold]
    pub(crate) fn discard_simulated(&self, runnable: Runnable) {
        self.as_current(|| self.discard_inside(runnable));
    }

    /// Takes all that this worker has queued.
    #[inline(always)]
    pub(crate) fn take_queued(&self, take: impl FnMut(Runnable)) {
        // Most polls queue nothing. The slot is never open here.
        if !self.queues.is_empty() {
            self.take_all_queued(take);
        }
    }

    #[inline(never)]
    fn take_all_queued(&self, mut take: impl FnMut(Runnable)) {
        while let Some(runnable) = self.queues.pop() {
            take(runnable);
        }
        while let Some(runnable) = self.next_pinned() {
            take(runnable);
        }
    }

    /// Takes back a runnable that this worker's executor must drop, because it has closed.
    pub(crate) fn give_back(&self, runnable: Runnable) {
        match RunBy::of(&runnable) {
            RunBy::Any => self.queues.push_cancelled(Vec::from([runnable])),
            RunBy::Only(_) => {
                self.queues.push_pinned([runnable]);
            }
        }
    }

    /// Ends as a worker's thread does after its executor has closed. All workers must have
    /// arrived, or be about to.
    pub(crate) fn end_simulated(&self) {
        self.as_current(|| {
            self.close_down();
            Hooks::worker(&self.shared().hooks.on_thread_stop, self.index());
        });
    }
}

impl Shared {
    /// Calls `f` with each task that has waited once or has a worker or a lane of its own.
    pub(crate) fn each_waiting(&self, f: impl FnMut(NonNull<()>)) {
        self.registry.each_task(f);
    }

    /// Takes all that other threads have queued for any worker.
    pub(crate) fn take_injected(&self, take: impl FnMut(Runnable)) {
        self.each_injected(take);
    }
}
