//! A worker that its owner drives ([`hosted`](crate::hosted)): by steps, between which
//! its thread does something else, or by tasks that the owner chooses.
//!
//! Between two steps a worker is active or away. It is *active* if it may have something to run.
//! Other workers steal from it then, as from a worker that is stuck in a poll. It is *away* if the
//! step has found nothing. Then it sleeps (`sleep.rs`), and a push that would unpark its thread
//! wakes its owner's waker instead.
//!
//! A worker that goes away cannot watch the other workers, so it steals without patience before.
//! Nor can it wait in the driver, so it says when the driver must be checked.

use alloc::sync::Arc;
use core::{cell::Cell, ops::ControlFlow, task::Waker, time::Duration};
use std::time::Instant;

use super::{
    Running, Worker,
    idle::steal::Found,
    queues::After,
    shared::{Decides, Runnable, Shared},
    state::Searching,
};
use crate::{
    driver::clock::instant, hooks::Hooks, policy::MOST_STOLEN, registry::Lane, sleep::Parking,
};
use joint::host;
use joint::task::Polled;
use joint_switch::now;

/// Keeps the executor's memory alive for a task that an owner has taken.
pub(crate) type Kept = Arc<Arc<Shared>>;

/// The state of a stepped worker between two calls.
pub(crate) struct Stepping {
    is_away: Cell<bool>,
    has_begun: Cell<bool>,
    pub(crate) has_ended: Cell<bool>,
    /// Cloned for each task that the owner has.
    kept: Kept,
    /// Cloned instead for each [lent](Worker::lent) task.
    lent: Kept,
}

impl Stepping {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            is_away: Cell::new(false),
            has_begun: Cell::new(false),
            has_ended: Cell::new(false),
            kept: Arc::new(shared.clone()),
            lent: Arc::new(shared.clone()),
        }
    }
}

/// The event that a worker waits for, after a [step](crate::hosted::BoundWorker::step).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it has run as many tasks as it was to run, and there may be more. Step it again
    /// soon.
    Ready,
    /// There is nothing to run. The waker of the step is woken once that may have changed.
    Idle,
    /// As [`Idle`](Step::Idle), but step it again at this time in any case, to check the timers and
    /// the descriptors. [`wait`](crate::hosted::BoundWorker::wait) waits for them as well.
    ///
    /// From the executor's first descriptor on, the time is at most a millisecond away while no
    /// other worker waits for the descriptors.
    Until(Instant),
    /// The executor has ended, as far as this worker is concerned.
    Ended,
}

impl Worker {
    /// Registers this thread as one that runs the worker. Called before the first step, and again
    /// when the worker has moved to another thread.
    pub(crate) fn begin_here(&self) {
        // An owner who chooses the tasks also serves the driver, whose first use unparks the rest.
        if self.shared().decides == Decides::Workers {
            self.shared().sleep.begin(self.index());
        }
        if !self.stepping.has_begun.replace(true) {
            let on_start = &self.shared().hooks.on_thread_start;
            self.as_current(|| Hooks::worker(on_start, self.index()));
        }
    }

    /// Runs up to `most` tasks. The waker is for the time in which there are none.
    pub(crate) fn step(&self, most: usize, waker: &Waker) -> Step {
        if self.stepping.has_ended.get() {
            return Step::Ended;
        }
        let step = self.on_thread(|| self.step_here(most.max(1), waker));
        if step == Step::Ended {
            self.note_end();
        }
        step
    }

    fn step_here(&self, most: usize, waker: &Waker) -> Step {
        let shared = &**self.shared();
        let mut left = most;
        let mut running = Running::of(self);
        if self.stepping.is_away.get() {
            let found;
            (running, found) = self.come_back(|| self.find_eagerly());
            left -= usize::from(found);
            // It may have come back for a timer or a descriptor.
            running.attend(After::Queue);
        }
        loop {
            if self.is_over() {
                if self.has_arrived() {
                    shared.leave(&running);
                    return Step::Ended;
                }
                running.arrive();
                continue;
            }
            if left == 0 {
                // Its owner may not drive it for some time, so others must find what it has.
                running.show_slot();
                if self.has_own() {
                    running.notify();
                }
                return Step::Ready;
            }
            if let Some(runnable) = running.next() {
                running.run_or_discard(runnable);
                left -= 1;
                continue;
            }
            if running.attend(After::Queue) && self.has_own() {
                continue;
            }
            // Here and not below, because a stranger's clone may take any time, and may panic.
            let waker = waker.clone();
            let searching = running.search();
            running = match self.find_eagerly() {
                Some(found) => searching.take_up(found),
                None if self.is_over() => searching.stop(),
                None => match self.go_away(waker) {
                    Ok(()) => {
                        self.stepping.is_away.set(true);
                        let look = shared.driver.next_unkept_look().map(instant);
                        return look.map_or(Step::Idle, Step::Until);
                    }
                    Err(waker) => {
                        let running = searching.stop();
                        running.stranger(|| drop(waker));
                        running
                    }
                },
            };
            left -= 1;
        }
    }

    /// Ends the sleep of a worker that is away, and lets it run what `find` finds. Returns whether
    /// there was something.
    fn come_back(&self, find: impl FnOnce() -> Option<Found>) -> (Running<'_>, bool) {
        self.stepping.is_away.set(false);
        let waker = self.shared().sleep.come_back(self.index());
        self.look_within(1);
        let searching = Searching::back(self);
        let (running, found) = match find() {
            Some(found) => (searching.take_up(found), true),
            None => (searching.stop(), false),
        };
        if let Some(waker) = waker {
            running.stranger(|| drop(waker));
        }
        (running, found)
    }

    /// Takes what there is to run, regardless of the other workers' progress. For a worker whose
    /// thread goes away if it finds nothing, and then watches nobody.
    fn find_eagerly(&self) -> Option<Found> {
        let own = self.next_own().or_else(|| self.take_injected());
        let task = own.map(|own| Found::Task(own, None));
        let task = task.or_else(|| self.steal(|_| MOST_STOLEN));
        task.or_else(|| self.take_fork(now()).map(Found::Fork))
    }

    /// Goes to sleep, unless there is something to do. The waker then comes back.
    fn go_away(&self, away: Waker) -> Result<(), Option<Waker>> {
        let shared = &**self.shared();
        shared.sleep.go_away(
            self.index(),
            away,
            || self.is_urgent(),
            || shared.last_look(|all| all.has_queued()),
        )
    }

    /// The last check before this worker parks. Active workers check the injector by themselves.
    pub(super) fn is_urgent(&self) -> bool {
        let shared = &**self.shared();
        let injected = || shared.has_injected() && shared.sleep.is_quiet();
        self.has_pinned() || self.is_over() || injected()
    }

    /// Makes the worker active, if it is away. It may run and push tasks only then.
    #[inline]
    fn be_active(&self) {
        #[cold]
        fn come_back(worker: &Worker) {
            let _running = worker.come_back(|| None);
        }
        if self.stepping.is_away.get() {
            come_back(self);
        }
    }

    /// Calls `f` as code of this worker, and with all its duties.
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        self.on_thread(|| {
            self.be_active();
            f()
        })
    }

    /// Calls `f` as code of this worker.
    #[inline]
    pub(crate) fn act<R>(&self, f: impl FnOnce(&Self) -> R) -> R {
        self.as_current(|| {
            self.be_active();
            f(self)
        })
    }

    /// Blocks this thread until the worker has something to do, or for so long: in the driver, if
    /// no other worker waits there.
    pub(crate) fn wait_here(&self, limit: Option<Duration>) {
        if self.stepping.has_ended.get() {
            return;
        }
        self.be_active();
        if self.has_own() {
            return;
        }
        // It may have been driven by another thread before.
        self.shared().sleep.begin(self.index());
        self.on_thread(|| self.park_here(limit));
    }

    fn park_here(&self, limit: Option<Duration>) {
        let (shared, index) = (&**self.shared(), self.index());
        let deadline = limit.and_then(|limit| host::now().checked_add(limit));
        let left = || deadline.map(|deadline| deadline.saturating_duration_since(host::now()));
        let searching = Running::of(self).search();
        let parked = searching.park(true, |_, urgent, Parking { in_driver, park }| {
            let mut park = |_| park(left()) || left() == Some(Duration::ZERO);
            let parking = Parking {
                in_driver,
                park: &mut park,
            };
            let has_work = || shared.last_look(|all| all.has_queued());
            let _parked = (shared.sleep).park(index, None, urgent, has_work, parking);
        });
        if let ControlFlow::Continue(searching) = parked {
            searching.stop();
        }
    }

    /// Does all that a worker's thread does, from its start until the executor has ended.
    pub(crate) fn run_to_end(&self) {
        self.end_by(|| {
            self.begin_here();
            Running::of(self).work();
        });
    }

    /// Ends the executor for this worker, and does not wait for the others. Everything that only
    /// this worker may drop is dropped when this returns.
    pub(crate) fn end_here(&self) {
        self.end_by(|| Running::of(self).leave_at_once());
    }

    fn end_by(&self, end: impl FnOnce()) {
        if self.stepping.has_ended.get() {
            return;
        }
        self.be_active();
        self.on_thread(end);
        self.note_end();
    }

    fn note_end(&self) {
        self.stepping.has_ended.set(true);
        if self.stepping.has_begun.get() {
            Hooks::worker(&self.shared().hooks.on_thread_stop, self.index());
        }
    }
}

/// For owners that choose the tasks themselves.
impl Worker {
    /// Records that a local task is spawned on this worker.
    pub(crate) fn note_local(&self) {
        self.has_had_local.set(true);
    }

    /// Whether a local task may be alive, which stays on this thread.
    pub(crate) fn may_have_local(&self) -> bool {
        let may_have = self.has_had_local.get() && self.shared().registry.pinned(self.index()) > 0;
        self.has_had_local.set(may_have);
        may_have
    }

    /// Returns what is kept with a task that this worker runs.
    #[inline]
    pub(crate) fn kept(&self) -> &Kept {
        &self.stepping.kept
    }

    /// Returns what the owner keeps with a task that it takes.
    #[inline]
    pub(crate) fn kept_with(&self, runnable: &Runnable) -> &Kept {
        match runnable.metadata().is_entered() && pinned_to(runnable).is_some() {
            true => &self.stepping.lent,
            false => &self.stepping.kept,
        }
    }

    /// The number of tasks that the owner has, and that are pinned and in the registry, where the
    /// worker's end looks for them. They stay on this worker's thread, and while there is one, so
    /// does the worker.
    pub(super) fn lent(&self) -> usize {
        Arc::strong_count(&self.stepping.lent) - 1
    }

    pub(crate) fn has_lent(&self) -> bool {
        self.lent() > 0
    }

    /// Runs a runnable once, as this worker. Returns it if it was woken meanwhile.
    #[inline(always)]
    pub(crate) fn run_chosen(&self, runnable: Runnable) -> Option<Runnable> {
        let running = Running::of(self);
        if self.shared().is_closed() {
            running.discard_inside(runnable);
            return None;
        }
        let settle = |polled| match polled {
            Polled::Woken(runnable) => Some(runnable),
            Polled::Ended(Some(waiter)) => {
                running.stranger(|| waiter.wake());
                None
            }
            Polled::Pending | Polled::Ended(None) => None,
        };
        match self.watches_polls {
            false => settle(running.poll(runnable)),
            true => running.run_watched(runnable, settle),
        }
    }

    /// Drops a runnable, as this worker.
    pub(crate) fn discard_chosen(&self, runnable: Runnable) {
        Running::of(self).discard_inside(runnable);
    }

    /// Closes the executor, and drops its tasks that no worker runs, as this worker. It may be in a
    /// poll.
    pub(crate) fn discard_all(&self) {
        self.shared().close();
        Running::of(self).discard_blocked(|| true);
    }

    /// Takes all that this worker has queued.
    #[inline(always)]
    pub(crate) fn take_queued(&self, mut take: impl FnMut(Runnable)) {
        // Most polls queue nothing. The slot is never open here.
        if !self.queues.is_empty() {
            while let Some(runnable) = self.next_queued() {
                take(runnable);
            }
        }
    }

    /// Queues a runnable again that was taken.
    pub(crate) fn give_back(&self, runnable: Runnable) {
        match runnable.metadata().lane() {
            Lane::Normal => self.queues.push_beyond(runnable),
            Lane::High => self.queues.deques.push_high(runnable),
            Lane::Pinned(_) => self.push_pinned(runnable),
        }
    }

    /// Whether a runnable that a worker of `executor` had queued may be run by this worker. A task
    /// of the normal lane that has not waited yet may run on any worker of any executor.
    #[inline]
    pub(crate) fn may_run(&self, runnable: &Runnable, executor: &Arc<Shared>) -> bool {
        match Arc::ptr_eq(executor, self.shared()) {
            true => pinned_to(runnable).is_none_or(|worker| worker == self.index()),
            false => runnable.metadata().is_normal() && !runnable.metadata().is_entered(),
        }
    }
}

/// The worker that a runnable is pinned to.
#[inline]
pub(crate) fn pinned_to(runnable: &Runnable) -> Option<usize> {
    match runnable.metadata().lane() {
        Lane::Pinned(worker) => Some(worker),
        Lane::Normal | Lane::High => None,
    }
}

#[cfg(test)]
mod tests;
