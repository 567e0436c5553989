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

use core::{cell::Cell, ptr, task::Waker, time::Duration};
use std::time::Instant;

use super::{
    Attended, Then, Worker,
    lookout::{Found, Keep, MOST_STOLEN},
    shared::{Decides, Runnable},
};
use crate::{
    guard::guarded,
    hooks::Hooks,
    registry::Lane,
    sleep::{AfterPark, Away, Parking, Slept},
};
use joint::task::Polled;
use joint::waker::clock;

/// The state of a stepped worker between two calls.
#[derive(Default)]
pub(crate) struct Stepping {
    is_away: Cell<bool>,
    has_begun: Cell<bool>,
    pub(crate) has_ended: Cell<bool>,
}

/// What a worker waits for, after a [step](crate::hosted::BoundWorker::step).
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
    pub(crate) fn begin_here(&self, stepping: &Stepping) {
        // An owner who chooses the tasks also serves the driver, whose first use rouses the others.
        if self.shared().decides == Decides::Workers {
            self.shared().sleep.begin();
        }
        if !stepping.has_begun.replace(true) {
            let on_start = &self.shared().hooks.on_thread_start;
            self.as_current(|| Hooks::worker(on_start, self.index()));
        }
    }

    /// Runs up to `most` tasks. The waker is for the time in which there are none.
    pub(crate) fn step(&self, stepping: &Stepping, most: usize, waker: &Waker) -> Step {
        if stepping.has_ended.get() {
            return Step::Ended;
        }
        let step = {
            let _on_thread = self.take_thread();
            self.step_here(stepping, most.max(1), waker)
        };
        if step == Step::Ended {
            self.note_end(stepping);
        }
        step
    }

    fn step_here(&self, stepping: &Stepping, most: usize, waker: &Waker) -> Step {
        let shared = &**self.shared();
        // While this worker counts as searching, and cloned before, because a stranger's clone may
        // panic.
        let away = || Away::new(waker.clone());
        let mut searching = stepping.is_away.get().then(away);
        if searching.is_some() {
            stepping.is_away.set(false);
            shared.sleep.come_back(self.index());
            // It may have come back for a timer or a descriptor.
            self.attend(Then::Other);
        }
        let mut left = most;
        loop {
            if let Some(away) = searching.take() {
                let found = match self.is_over() {
                    true => None,
                    false => self.find_eagerly(),
                };
                let rests = found.is_none() && !self.is_over();
                if rests && self.go_away(away) == Slept::AWhile {
                    stepping.is_away.set(true);
                    return self.next_visit().map_or(Step::Idle, Step::Until);
                }
                self.end_search();
                self.take_up_found(found);
                left -= 1;
            }
            if self.is_over() {
                if self.has_arrived() {
                    shared.leave(self);
                    return Step::Ended;
                }
                self.arrive();
                continue;
            }
            if left == 0 {
                self.leave_to_others();
                return Step::Ready;
            }
            if let Some(runnable) = self.next() {
                self.take_up(runnable);
                left -= 1;
            } else if self.attend(Then::Runs) == Attended::FoundNothing || !self.has_own() {
                self.judge_own_polls();
                searching = Some(away());
                shared.sleep.search();
            }
        }
    }

    /// Leaves what this worker would run next where others find it, because its owner may not
    /// drive it for some time.
    fn leave_to_others(&self) {
        self.queues
            .without_slot(|next| self.push_normal(next), || ());
        if self.has_own() {
            self.notify();
        }
    }

    /// Takes what there is to run, regardless of the other workers' progress. For a worker whose
    /// thread goes away if it finds nothing, and then watches nobody.
    fn find_eagerly(&self) -> Option<Found> {
        let shared = self.shared();
        let own = self.next_own().or_else(|| self.take_injected());
        let task = own.map(Found::Task).or_else(|| {
            let mut others = self.others();
            let stolen = others.find_map(|i| {
                let (stolen, tasks) = self
                    .queues
                    .deques
                    .steal_and_pop(&shared.stealers[i], MOST_STOLEN)?;
                Some(Found::Stolen(stolen, self.steal_info(i, tasks)))
            })?;
            self.counters().steals.increment();
            Some(stolen)
        });
        task.or_else(|| self.take_fork(Instant::now()).map(Found::Fork))
    }

    /// Goes to sleep, unless there is something to do.
    fn go_away(&self, away: Away) -> Slept {
        let shared = &**self.shared();
        shared.sleep.go_away(
            self.index(),
            away,
            || self.is_urgent(),
            || shared.has_queued(),
        )
    }

    /// The last check before this worker rests. Active workers check the injector by themselves.
    pub(super) fn is_urgent(&self) -> bool {
        let shared = &**self.shared();
        let injected = || shared.has_injected() && shared.sleep.is_quiet();
        self.has_pinned() || self.is_over() || injected()
    }

    /// Makes the worker active, if it is away. It may run and push tasks only then.
    pub(crate) fn be_active(&self, stepping: &Stepping) {
        if stepping.is_away.replace(false) {
            self.shared().sleep.come_back(self.index());
            self.end_search();
        }
    }

    /// Blocks this thread until the worker has something to do, or for so long: in the driver, if
    /// no other worker waits there.
    pub(crate) fn wait_here(&self, stepping: &Stepping, limit: Option<Duration>) {
        if stepping.has_ended.get() {
            return;
        }
        let (shared, index) = (&**self.shared(), self.index());
        match stepping.is_away.replace(false) {
            true => shared.sleep.come_back(index),
            false if self.has_own() => return,
            false => shared.sleep.search(),
        }
        let _on_thread = self.take_thread();
        let deadline = limit.and_then(|limit| clock::now().checked_add(limit));
        let left = || deadline.map(|deadline| deadline.saturating_duration_since(clock::now()));
        self.rest_in_place(Keep::IfVacant, |urgent, mut parking| {
            let is_keeper = parking.is_keepers();
            let mut park = |_| match (parking.park(left()), left()) {
                (_, Some(Duration::ZERO)) => AfterPark::Rise,
                (parked, _) => parked,
            };
            let parking = match is_keeper {
                true => Parking::Driver(&mut park),
                false => Parking::Reserve(&mut park),
            };
            let has_work = || shared.has_queued();
            shared.sleep.sleep(index, urgent, has_work, parking);
        });
        self.end_search();
    }

    /// Does all that a worker's thread does, from its start until the executor has ended.
    pub(crate) fn run_to_end(&self, stepping: &Stepping) {
        self.end_by(stepping, || {
            self.begin_here(stepping);
            self.work();
        });
    }

    /// Ends the executor for this worker, and does not wait for the others. Everything that only
    /// this worker may drop is dropped when this returns.
    pub(crate) fn end_here(&self, stepping: &Stepping) {
        self.end_by(stepping, || self.leave_at_once());
    }

    fn end_by(&self, stepping: &Stepping, end: impl FnOnce()) {
        if stepping.has_ended.get() {
            return;
        }
        self.be_active(stepping);
        {
            let _on_thread = self.take_thread();
            end();
        }
        self.note_end(stepping);
    }

    fn note_end(&self, stepping: &Stepping) {
        stepping.has_ended.set(true);
        if stepping.has_begun.get() {
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
        let may_have = self.has_had_local.get() && self.shared().registry.has_pinned(self.index());
        self.has_had_local.set(may_have);
        may_have
    }

    /// Runs a runnable once, as this worker. Returns it if it was woken meanwhile.
    #[inline(always)]
    pub(crate) fn run_chosen(&self, runnable: Runnable) -> Option<Runnable> {
        self.as_current(|| {
            if self.shared().is_closed() {
                self.discard_inside(runnable);
                return None;
            }
            match self.poll(runnable) {
                Polled::Woken(runnable) => return Some(runnable),
                Polled::Ended(Some(waiter)) => guarded(|| waiter.wake()),
                Polled::Pending | Polled::Ended(None) => {}
            }
            None
        })
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
        match pinned_to(&runnable) {
            None => self.queues.push_beyond(runnable),
            Some(_) => {
                self.queues.push_pinned([runnable]);
            }
        }
    }

    /// Whether the runnable may be run by this worker, as far as that can be told: a task that has
    /// not waited yet may belong to any executor.
    #[inline]
    pub(crate) fn may_run(&self, runnable: &Runnable) -> bool {
        runnable.metadata().home().is_none_or(|home| {
            let is_others = |lane| matches!(lane, Lane::Pinned(worker) if worker != self.index());
            ptr::eq(home.owner, &raw const **self.shared()) && !is_others(home.lane)
        })
    }
}

/// The worker that a runnable is pinned to.
#[inline]
pub(crate) fn pinned_to(runnable: &Runnable) -> Option<usize> {
    match runnable.metadata().home()?.lane {
        Lane::Pinned(worker) => Some(worker),
        Lane::Normal | Lane::High => None,
    }
}
