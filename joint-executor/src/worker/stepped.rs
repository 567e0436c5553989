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
use core::{ops::ControlFlow, task::Waker, time::Duration};
use std::time::Instant;

use super::{
    closing::arrive,
    idle::Found,
    lent::pinned_to,
    parts::Worker,
    queues::After,
    shared::{Decides, Runnable, Shared},
    state::{Running, Searching},
};
use crate::{driver::clock::instant, guard::Once, hooks, sleep::Parking};
use joint::{host, task::Polled};

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
            self.as_current_by(&mut Some(|| {
                hooks::call(on_start, |hook| hook(self.index()))
            }));
        }
    }

    /// Runs up to `most` tasks. The waker is for the time in which there are none.
    #[inline]
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

    #[inline]
    fn step_here(&self, most: usize, waker: &Waker) -> Step {
        let shared = &**self.shared();
        let mut left = most;
        let mut running = Running::of(&self.core);
        if self.stepping.is_away.get() {
            let found;
            (running, found) = self.come_back(|| self.idle.find_eagerly(self));
            left -= usize::from(found);
            // It may have come back for a timer or a descriptor.
            self.attendant.attend(&running, After::Queue);
        }
        loop {
            if self.is_over() {
                if self.has_arrived.get() {
                    shared.leave(&running);
                    return Step::Ended;
                }
                arrive(&running);
                continue;
            }
            if left == 0 {
                // Its owner may not drive it for some time, so others must find what it has.
                running.show_slot();
                if self.queues.has_own() {
                    running.notify();
                }
                return Step::Ready;
            }
            if let Some(runnable) = self.next(&running) {
                running.run_or_discard(runnable);
                left -= 1;
                continue;
            }
            if self.attendant.attend(&running, After::Queue) && self.queues.has_own() {
                continue;
            }
            // Here and not below, because a stranger's clone may take any time, and may panic.
            let waker = waker.clone();
            let searching = self.idle.search(running);
            running = match self.idle.find_eagerly(self) {
                Some(found) => self.idle.take_up(searching, found),
                None if self.is_over() => self.idle.stop(searching),
                None => match self.go_away(waker) {
                    Ok(()) => {
                        self.stepping.is_away.set(true);
                        let look = shared.driver.next_unkept_look().map(instant);
                        return look.map_or(Step::Idle, Step::Until);
                    }
                    Err(waker) => {
                        let running = self.idle.stop(searching);
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
        self.queues.look_within(1);
        let searching = Searching::back(&self.core);
        let (running, found) = match find() {
            Some(found) => (self.idle.take_up(searching, found), true),
            None => (self.idle.stop(searching), false),
        };
        if waker.is_some() {
            running.stranger(|| drop(waker));
        }
        (running, found)
    }

    /// Goes to sleep, unless there is something to do. The waker then comes back.
    #[inline]
    fn go_away(&self, away: Waker) -> Result<(), Option<Waker>> {
        let shared = &**self.shared();
        shared.sleep.go_away(
            self.index(),
            away,
            || self.is_urgent(),
            || shared.last_look(|all| all.has_queued()),
        )
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
    #[inline]
    pub(crate) fn wait_here(&self, limit: Option<Duration>) {
        if self.stepping.has_ended.get() {
            return;
        }
        self.be_active();
        if self.queues.has_own() {
            return;
        }
        // It may have been driven by another thread before.
        self.shared().sleep.begin(self.index());
        self.on_thread_by(&mut Some(|| self.park_here(limit)));
    }

    #[inline]
    fn park_here(&self, limit: Option<Duration>) {
        let (shared, index) = (&**self.shared(), self.index());
        let deadline = limit.and_then(|limit| host::now().checked_add(limit));
        let left = || deadline.map(|deadline| deadline.saturating_duration_since(host::now()));
        let searching = self.idle.search(Running::of(&self.core));
        let mut park = |urgent: &dyn Fn() -> bool, Parking { in_driver, park }: Parking<'_>| {
            let mut park = |_| park(left()) || left() == Some(Duration::ZERO);
            let parking = Parking {
                in_driver,
                park: &mut park,
            };
            let has_work = || shared.last_look(|all| all.has_queued());
            let _parked = (shared.sleep).park(index, None, urgent, has_work, parking);
        };
        let parked = self.idle.park(searching, &self.attendant, true, &mut park);
        if let ControlFlow::Continue(searching) = parked {
            self.idle.stop(searching);
        }
    }

    /// Does all that a worker's thread does, from its start until the executor has ended.
    #[inline(never)]
    pub(crate) fn run_to_end(&self) {
        self.end_by(&mut Some(|| {
            self.begin_here();
            self.work(Running::of(&self.core));
        }));
    }

    /// Ends the executor for this worker, and does not wait for the others. Everything that only
    /// this worker may drop is dropped when this returns.
    #[inline(never)]
    pub(crate) fn end_here(&self) {
        self.end_by(&mut Some(|| {
            let running = Running::of(&self.core);
            self.shared().close();
            arrive(&running);
            self.shared().leave(&running);
        }));
    }

    fn end_by(&self, end: &mut dyn Once) {
        if self.stepping.has_ended.get() {
            return;
        }
        self.be_active();
        self.on_thread_by(end);
        self.note_end();
    }

    fn note_end(&self) {
        self.stepping.has_ended.set(true);
        if self.stepping.has_begun.get() {
            hooks::call(&self.shared().hooks.on_thread_stop, |hook| {
                hook(self.index())
            });
        }
    }
}

/// For owners that choose the tasks themselves.
impl Worker {
    /// Runs a runnable once, as this worker. Returns it if it was woken meanwhile.
    #[inline(always)]
    pub(crate) fn run_chosen(&self, runnable: Runnable) -> Option<Runnable> {
        let running = Running::of(&self.core);
        if self.shared().is_closed() {
            running.discard(runnable);
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
            true => {
                let mut woken = None;
                running.run_watched(runnable, &mut |polled| woken = settle(polled));
                woken
            }
        }
    }

    /// Drops a runnable, as this worker.
    pub(crate) fn discard_chosen(&self, runnable: Runnable) {
        Running::of(&self.core).discard(runnable);
    }

    /// Closes the executor, and drops its tasks that no worker runs, as this worker. It may be in a
    /// poll.
    pub(crate) fn discard_all(&self) {
        self.shared().close();
        let running = Running::of(&self.core);
        self.closing.discard_inside(&running, || true);
    }

    /// Takes all that this worker has queued.
    #[inline(always)]
    pub(crate) fn take_queued(&self, mut take: impl FnMut(Runnable)) {
        // Most polls queue nothing. The slot is never open here.
        if !self.queues.is_empty() {
            while let Some(runnable) = self.queues.next_queued() {
                take(runnable);
            }
        }
    }

    /// Queues a runnable again that was taken.
    pub(crate) fn give_back(&self, runnable: Runnable) {
        self.queues.give_back(runnable);
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

#[cfg(test)]
mod tests;
