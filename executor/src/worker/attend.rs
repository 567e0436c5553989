//! How a worker attends to the driver: it fires the timers that are due, and wakes the tasks whose
//! descriptors are ready.
//!
//! The driver's keeper does this when it rises. A worker with nothing to run checks the driver
//! before it looks for work elsewhere. A busy worker checks it in its turn. Each time it checks its
//! own deadlines and those of one other worker. It checks the descriptors, which takes a system
//! call, only after [`LOOK_INTERVAL`] has passed since it last did. A worker whose poll blocks its
//! thread in a wait of this crate attends to the driver too (`blocked.rs`).
//!
//! The wakers of this executor's tasks are woken first, which only pushes the tasks. The others are
//! strangers: each may run any code, and wait for whatever was due at the same time. So all but the
//! first are left where other workers find them, too (`driver/due.rs`).

use alloc::{sync::Arc, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    iter,
    task::Waker,
};
use std::time::Instant;

use super::{Running, Worker, queues::After, shared::FAMILY, visits::Visits};
use crate::{
    driver::{clock, timers::Timers},
    policy::{LONGEST_AWAY, LOOK_INTERVAL},
};
use joint::waker;

/// A worker's memory of the driver.
#[derive(Default)]
pub(super) struct Attendant {
    next_look: Cell<u64>,
    /// The number of runs at the last turn of the driver.
    last_turn: Cell<u64>,
    /// The time that a run takes, in nanoseconds, as far as the turns of the driver show.
    pace: Cell<u64>,
    pub(super) visits: Visits,
    /// The index of the timers to check next.
    next_timers: Cell<usize>,
    /// Empty buffers, kept for their memory.
    woken: RefCell<Vec<Waker>>,
    strangers: RefCell<Vec<Waker>>,
}

impl Running<'_> {
    /// Attends to the driver. `after` is what the worker does then. Returns whether it has woken
    /// tasks: they are in its own queues, unless another worker has taken them.
    pub(super) fn attend(&self, after: After) -> bool {
        let driver = &self.shared().driver;
        if !driver.is_used() {
            return false;
        }
        self.announce_yield();
        let mut woken = self.attendant.woken.take();
        self.look_at_sources(&mut woken);
        let now = clock::now();
        self.visit(now);
        self.wake_ready(woken, driver.all_timers(), now, after)
    }

    /// Attends to the driver in its turn. Returns the number of runs after which it is due again,
    /// if it is in use.
    pub(super) fn attend_in_turn(&self) -> Option<u64> {
        let is_used = self.shared().driver.is_used();
        is_used.then(|| self.attend_used())
    }

    #[cold]
    fn attend_used(&self) -> u64 {
        let driver = &self.shared().driver;
        let now = clock::now();
        let runs = self.runs() - self.attendant.last_turn.replace(self.runs());
        let away = self.visit(now);
        let mut woken = self.attendant.woken.take();
        if now >= self.attendant.next_look.get() {
            self.attendant.next_look.set(now + LOOK_INTERVAL);
            self.look_at_sources(&mut woken);
        }
        let other = self.attendant.next_timers.get();
        let all = driver.all_timers();
        self.attendant.next_timers.set((other + 1) % all.len());
        let timers = [&all[self.index()], &all[other]];
        self.wake_ready(woken, timers, now, After::Queue);
        // A short run among long ones says little: what was measured before counts by half.
        let pace = (away / runs.max(1)).max(self.attendant.pace.get() / 2);
        self.attendant.pace.set(pace);
        LONGEST_AWAY / pace.max(1)
    }

    /// Attends to the driver after this worker was parked in it, and wakes what was found there.
    pub(super) fn attend_as_keeper(&self, woken: Vec<Waker>) {
        let driver = &self.shared().driver;
        let now = clock::now();
        self.leave_driver(now);
        self.wake_ready(woken, driver.all_timers(), now, After::Queue);
    }

    /// Wakes these, and the tasks whose deadline is not after `now`. Returns whether there were
    /// any.
    fn wake_ready<'a>(
        &self,
        mut woken: Vec<Waker>,
        timers: impl IntoIterator<Item = &'a Arc<Timers>>,
        now: u64,
        after: After,
    ) -> bool {
        let mut strangers = self.attendant.strangers.take();
        let mut any = self.wake_own(&mut woken, &mut strangers, after);
        for timers in timers {
            // If more are due, the next visit finds them.
            let _fired = timers.fire(now, &mut woken);
            any |= self.wake_own(&mut woken, &mut strangers, after);
        }
        self.attendant.woken.replace(woken);
        self.wake_strangers(strangers);
        any
    }

    /// Wakes this executor's tasks, and moves the other wakers to `strangers`. Returns whether
    /// there was one.
    fn wake_own(&self, woken: &mut Vec<Waker>, strangers: &mut Vec<Waker>, after: After) -> bool {
        let any = !woken.is_empty();
        for waker in woken.drain(..) {
            if !waker::is_of(&waker, &FAMILY) {
                strangers.push(waker);
                continue;
            }
            self.queues.before(after, || waker.wake());
        }
        any
    }

    /// Wakes strangers, one after the other, and then those that other workers have left. All but
    /// the first are left where every worker finds them.
    fn wake_strangers(&self, mut strangers: Vec<Waker>) {
        let driver = &self.shared().driver;
        let first = (!strangers.is_empty()).then(|| strangers.remove(0));
        if !strangers.is_empty() {
            driver.due().extend(&mut strangers);
            self.notify();
        }
        self.attendant.strangers.replace(strangers);
        let due = iter::from_fn(|| driver.next_due());
        for waker in first.into_iter().chain(due) {
            self.stranger(|| waker.wake());
        }
    }
}

impl Attendant {
    /// A buffer for wakers.
    pub(super) fn take_buffer(&self) -> Vec<Waker> {
        self.woken.take()
    }
}

impl Worker {
    /// Asks the system which descriptors are ready, if there are any and no other worker keeps the
    /// driver.
    fn look_at_sources(&self, woken: &mut Vec<Waker>) {
        let driver = &self.shared().driver;
        if let Some(mut keeper) = driver.has_sources().then(|| driver.keep()).flatten() {
            keeper.look();
            keeper.leave(woken);
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
        let is_left = driver.is_used() && !driver.is_kept();
        is_left && (shared.keeps_the_driver_waiting() || shared.sleep.lookouts() == 0)
    }
}

#[cfg(test)]
mod tests;
