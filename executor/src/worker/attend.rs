//! How a worker attends to the driver: it fires the timers that are due, and wakes the tasks whose
//! descriptors are ready.
//!
//! The driver's keeper does this when it rises. A worker with nothing to run checks the driver
//! before it looks for work elsewhere. A busy worker checks it in its turn. Each time it checks its
//! own deadlines and those of one other worker. It checks the descriptors, which takes a system
//! call, only after [`LOOK_INTERVAL`] has passed since it last did. A worker whose poll blocks its
//! thread in a wait of this crate attends to the driver too (`blocked.rs`).

use alloc::{sync::Arc, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    task::Waker,
};
use std::time::Instant;

use super::{Attended, Then, Worker, spare::Spare, visits::Visits};
use crate::{
    driver::{
        Keeper, clock,
        timers::{Fired, Timers},
    },
    guard::guarded,
};
use joint::waker;

/// The number of batches of timers that fire before the woken tasks run, because their tasks are
/// then still in the cache.
const BATCHES: usize = 2;

/// The shortest time between two checks of the descriptors by a busy worker, in nanoseconds.
const LOOK_INTERVAL: u64 = 20_000;

/// What a worker remembers about the driver.
#[derive(Default)]
pub(super) struct Attendant {
    next_look: Cell<u64>,
    pub(super) visits: Visits,
    /// The index of the timers to check next.
    next_timers: Cell<usize>,
    /// An empty buffer, kept for its memory.
    woken: RefCell<Vec<Waker>>,
    spare: Spare,
}

impl Worker {
    /// Attends to the driver when there is nothing to run.
    pub(super) fn attend(&self, then: Then) -> Attended {
        let driver = &self.shared().driver;
        if !driver.is_used() {
            return Attended::FoundNothing;
        }
        let keeper = self.look_at_sources();
        let now = clock::now();
        self.visit(now);
        self.wake_ready(keeper, driver.all_timers(), now, then)
    }

    /// Attends to the driver in its turn.
    pub(super) fn attend_in_turn(&self) {
        if self.shared().driver.is_used() {
            self.attend_used();
        }
    }

    #[cold]
    fn attend_used(&self) {
        let driver = &self.shared().driver;
        let now = clock::now();
        self.visit(now);
        let mut keeper = None;
        if now >= self.attendant.next_look.get() {
            self.attendant.next_look.set(now + LOOK_INTERVAL);
            keeper = self.look_at_sources();
        }
        let other = self.attendant.next_timers.get();
        let all = driver.all_timers();
        self.attendant.next_timers.set((other + 1) % all.len());
        let timers = [&all[self.index()], &all[other]];
        self.wake_ready(keeper, timers, now, Then::Runs);
    }

    /// Asks the system which descriptors are ready, if there are any and no other worker keeps the
    /// driver.
    fn look_at_sources(&self) -> Option<Keeper<'_>> {
        let driver = &self.shared().driver;
        let mut keeper = driver.has_sources().then(|| driver.keep())??;
        keeper.look();
        Some(keeper)
    }

    /// Attends to the driver as the keeper that has risen.
    pub(super) fn attend_as(&self, keeper: Keeper<'_>) -> Attended {
        let driver = &self.shared().driver;
        let now = clock::now();
        self.leave_driver(now);
        self.wake_ready(Some(keeper), driver.all_timers(), now, Then::Other)
    }

    /// Wakes the tasks for which the keeper has found something, and those whose deadline is not
    /// after `now`.
    fn wake_ready<'a>(
        &self,
        keeper: Option<Keeper<'_>>,
        timers: impl IntoIterator<Item = &'a Arc<Timers>>,
        now: u64,
        then: Then,
    ) -> Attended {
        // Taken out, because a waker's code could call this again.
        let mut woken = self.attendant.woken.take();
        if let Some(keeper) = keeper {
            keeper.leave(&mut woken);
        }
        let mut any = !woken.is_empty();
        self.wake_all(woken.drain(..), then);
        for timers in timers {
            for _ in 0..BATCHES {
                let fired = timers.fire(now, &mut woken);
                any |= !woken.is_empty();
                self.wake_all(woken.drain(..), then);
                if fired == Fired::All {
                    break;
                }
            }
        }
        self.attendant.woken.replace(woken);
        match any {
            true => Attended::WokeTasks,
            false => Attended::FoundNothing,
        }
    }

    /// Wakes all wakers. A panic of one does not keep the others from being woken.
    fn wake_all(&self, wakers: impl IntoIterator<Item = Waker>, then: Then) {
        for waker in wakers {
            if then == Then::Runs && self.has_one() {
                // It is not next: this waker may run any code for any time.
                self.notify();
            }
            let is_tasks = then == Then::Runs && !waker::is_foreign(&waker);
            // The wake-up of one of this executor's tasks ends with its push. Other wakers of this
            // crate have other addresses, and may wake such a task and go on.
            let task = if is_tasks { waker.data().addr() } else { 0 };
            self.runs_next.set(task);
            guarded(|| waker.wake());
            self.runs_next.set(0);
        }
    }

    /// Returns a reference to this worker's own timers.
    #[inline]
    pub(crate) fn share_timers(&self) -> Arc<Timers> {
        let spare = self.attendant.spare.take();
        spare.unwrap_or_else(|| self.shared().driver.timers(self.index()).clone())
    }

    /// Drops a reference to timers, or keeps it, if they are this worker's own.
    #[inline]
    pub(crate) fn give_back_timers(&self, timers: Arc<Timers>) {
        if Arc::ptr_eq(&timers, self.shared().driver.timers(self.index())) {
            self.attendant.spare.keep(timers);
        }
    }

    /// When the driver must be checked next, if no worker waits in it.
    pub(super) fn next_visit(&self) -> Option<Instant> {
        let look = self.shared().driver.next_unkept_look();
        look.map(clock::instant)
    }

    /// Whether another worker should keep the driver instead of this one, which is active or
    /// becomes so.
    pub(super) fn leaves_driver(&self) -> bool {
        let (shared, driver) = (self.shared(), &self.shared().driver);
        driver.is_used() && (shared.keeps_the_driver_waiting() || driver.has_no_reserve())
    }
}

#[cfg(test)]
mod tests;
