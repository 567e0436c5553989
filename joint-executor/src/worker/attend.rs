//! How a worker attends to the driver: it fires the timers that are due, and wakes the tasks whose
//! descriptors are ready.
//!
//! The driver's keeper does this when it wakes up. A worker with nothing to run checks the driver
//! before it looks for work elsewhere. A busy worker checks it in its turn. Each time it checks its
//! own deadlines and those of one other worker. It checks the descriptors, which takes a system
//! call, only after [`SOON`] has passed since it last did. A worker whose poll blocks its
//! thread in a wait of this crate attends to the driver too (`blocked.rs`).
//!
//! The wakers of this executor's tasks are woken first, which only pushes the tasks. The others are
//! strangers: each may run any code, and wait for whatever was due at the same time. So all but the
//! first are left where other workers find them, too (`driver/due.rs`).
//!
//! # Who keeps the driver
//! A worker that runs dry again and again checks the driver each time, and sleeps there if nothing
//! is ready. If another worker had taken that place meanwhile, each message of a connection would
//! wake that one, which was measured at 39 microseconds a message, against 13 otherwise. An idle
//! worker therefore leaves the driver to a worker that visits it **frequently**: at its last visit
//! it had been away for at most [`SOON`], and it has not been away for longer since. A worker that
//! never runs dry visits the driver only in its turn. It does so frequently if its runs are short.
//! If each takes 45 microseconds, its turns are rarer, so an idle worker keeps the driver.
//!
//! A keeper that leaves the driver wakes another worker if there is no lookout, because what it
//! runs may take long. So that this does not happen for each message, the only lookout watches
//! until a watch has passed without a visit. Of 300 messages a millisecond apart, that left at most
//! 132 system calls that wake or wait for a thread, of at least 670 before.

use alloc::{sync::Arc, vec::Vec};
use core::{cell::Cell, slice, task::Waker, time::Duration};

use super::{
    queues::After,
    shared::{FAMILY, Shared},
    state::{Core, Running},
};
use crate::{
    driver::{Driver, clock, keeper::Keeper, timers::Timers},
    policy,
};
use joint::waker;

// In nanoseconds, as all times here.
const SOON: u64 = policy::SOON.as_nanos() as u64;
const LONGEST_AWAY: u64 = policy::LONGEST_AWAY.as_nanos() as u64;

/// A worker's memory of the driver.
#[derive(Default)]
pub(super) struct Attendant {
    next_look: Cell<u64>,
    /// The number of runs at the last turn of the driver.
    last_turn: Cell<u64>,
    /// The time that a run takes, in nanoseconds, as far as the turns of the driver show.
    pace: Cell<u64>,
    /// The time at which the worker was last at the driver.
    last_visit: Cell<u64>,
    /// The index of the timers to check next.
    next_timers: Cell<usize>,
    /// An empty buffer, kept for its memory.
    woken: Cell<Vec<Waker>>,
}

impl Attendant {
    /// Creates the memory of a worker that begins now.
    pub(super) fn new() -> Self {
        Self {
            last_visit: Cell::new(clock::now()),
            ..Self::default()
        }
    }

    /// Attends to the driver. `after` is what the worker does then. Returns whether it has woken
    /// tasks: they are in its own queues, unless another worker has taken them.
    pub(super) fn attend(&self, worker: &Running<'_>, after: After) -> bool {
        let driver = &worker.shared().driver;
        if !driver.is_used() {
            return false;
        }
        worker.announce_yield();
        let woken = self.look_at_sources(driver);
        let now = clock::now();
        self.visit(worker, now);
        self.wake_ready(worker, woken, [driver.all_timers(), &[]], now, after)
    }

    /// Attends to the driver in its turn. Returns the number of runs after which it is due again,
    /// if it is in use.
    pub(super) fn attend_in_turn(&self, worker: &Running<'_>) -> Option<u64> {
        let is_used = worker.shared().driver.is_used();
        is_used.then(|| self.attend_used(worker))
    }

    #[cold]
    fn attend_used(&self, worker: &Running<'_>) -> u64 {
        let (driver, all_runs) = (&worker.shared().driver, worker.queues.runs());
        let now = clock::now();
        let runs = all_runs - self.last_turn.replace(all_runs);
        let away = self.visit(worker, now);
        let woken = if now >= self.next_look.get() {
            self.next_look.set(now + SOON);
            self.look_at_sources(driver)
        } else {
            self.take_ready(None)
        };
        let other = self.next_timers.get();
        let all = driver.all_timers();
        self.next_timers.set((other + 1) % all.len());
        let timers = |at: usize| slice::from_ref(&all[at]);
        let timers = [timers(worker.index()), timers(other)];
        self.wake_ready(worker, woken, timers, now, After::Queue);
        // A short run among long ones says little: what was measured before counts by half.
        let pace = (away / runs.max(1)).max(self.pace.get() / 2);
        self.pace.set(pace);
        LONGEST_AWAY / pace.max(1)
    }

    /// Attends to the driver after this worker was parked in it, and wakes what was found there.
    pub(super) fn attend_as_keeper(&self, worker: &Running<'_>, woken: Vec<Waker>) {
        let driver = &worker.shared().driver;
        let now = clock::now();
        let is_frequent = worker.counters().visits_until.get() > 0;
        self.leave(worker, now, is_frequent);
        self.wake_ready(worker, woken, [driver.all_timers(), &[]], now, After::Queue);
    }

    /// Wakes these, and the tasks whose deadline is not after `now`. Returns whether there were
    /// any.
    fn wake_ready(
        &self,
        worker: &Running<'_>,
        mut woken: Vec<Waker>,
        timers: [&[Arc<Timers>]; 2],
        now: u64,
        after: After,
    ) -> bool {
        let driver = &worker.shared().driver;
        let mut stranger = None;
        let mut any = wake_own(worker, &mut woken, &mut stranger, after);
        for timers in timers.into_iter().flatten() {
            // If more are due, the next visit finds them.
            let _fired = timers.fire(now, &mut woken);
            any |= wake_own(worker, &mut woken, &mut stranger, after);
        }
        self.woken.set(woken);
        if stranger.is_some() && !driver.due().is_empty() {
            worker.notify();
        }
        worker.wake_stranger(stranger);
        while let Some(waker) = driver.due().pop() {
            worker.wake_stranger(Some(waker));
        }
        any
    }

    /// Asks the system which descriptors are ready, if there are any and no other worker keeps the
    /// driver. Returns the wakers that wait for them.
    fn look_at_sources(&self, driver: &Driver) -> Vec<Waker> {
        let mut keeper = driver.has_sources().then(|| driver.keep()).flatten();
        if let Some(keeper) = &mut keeper {
            keeper.look();
        }
        self.take_ready(keeper)
    }

    /// Stops keeping the driver. Returns the wakers of what was found ready, in a vector that has
    /// memory.
    pub(super) fn take_ready(&self, keeper: Option<Keeper<'_>>) -> Vec<Waker> {
        let mut woken = self.woken.take();
        if let Some(keeper) = keeper {
            keeper.leave(&mut woken);
        }
        woken
    }

    /// Records that the worker is at the driver at the time `now`. Returns how long it was away.
    fn visit(&self, worker: &Core, now: u64) -> u64 {
        let away = now.saturating_sub(self.last_visit.get());
        self.leave(worker, now, away <= SOON);
        away
    }

    /// Records that the worker leaves the driver at the time `now`, after a visit. `is_frequent`
    /// says whether it had been away for at most [`SOON`] before.
    fn leave(&self, worker: &Core, now: u64, is_frequent: bool) {
        self.last_visit.set(now);
        let until = if is_frequent { now + SOON } else { 0 };
        worker.counters().visits_until.set(until);
    }
}

/// Wakes this executor's tasks. Of the other wakers, the first one becomes `stranger`, and the
/// others are left where every worker finds them. Returns whether there was any waker.
fn wake_own(
    worker: &Running<'_>,
    woken: &mut Vec<Waker>,
    stranger: &mut Option<Waker>,
    after: After,
) -> bool {
    let any = !woken.is_empty();
    for waker in woken.drain(..) {
        if waker::is_of(&waker, &FAMILY) {
            worker.queues.before(after, || waker.wake());
        } else if stranger.is_none() {
            *stranger = Some(waker);
        } else {
            worker.shared().driver.due().push(waker);
        }
    }
    any
}

/// Returns whether another worker visits the driver frequently, or did until at most that time ago.
pub(super) fn is_visited_beside(shared: &Shared, worker: usize, ago: Duration) -> bool {
    let others = (0..shared.workers()).filter(|&other| other != worker);
    let visits_until = others.map(|other| shared.counters[other].visits_until.get());
    // Mostly nobody does, and the clock is not read.
    (visits_until.max()).is_some_and(|until| until > 0 && clock::now() <= clock::after(until, ago))
}

#[cfg(test)]
mod tests;
