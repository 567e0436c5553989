//! How often a worker comes to the driver, so that one with nothing to do knows whether it has to
//! stay there.
//!
//! A worker that runs dry again and again looks there each time, and sleeps there when nothing is
//! ready. If another one had taken that place meanwhile, each message of a connection would wake
//! that other one: 39 microseconds a message were measured, and 13 without. So one with nothing to
//! do leaves the driver to a worker that comes **often**.
//!
//! A worker that never runs dry comes in its turn only, after 61 runs, which takes milliseconds
//! when each takes 45 microseconds. It does not come often then, and one with nothing to do keeps
//! the driver. Where the runs are short, it does, and keeps it itself.

use core::cell::Cell;

use super::Local;
use crate::executor::driver::clock;

/// In nanoseconds: a worker that was away from the driver for no longer than this is expected back
/// within as much.
const OFTEN: u64 = 50_000;

/// What a worker remembers of its visits.
#[derive(Default)]
pub(super) struct Visits {
    /// When it was at the driver last, by the driver's clock.
    last: Cell<u64>,
    /// Whether it had not been away for longer than [`OFTEN`] when it came last.
    is_often: Cell<bool>,
}

impl Local {
    /// At the driver at that time, after having been away.
    pub(super) fn visit(&self, now: u64) {
        let visits = &self.attendant.visits;
        let away = now.saturating_sub(visits.last.get());
        visits.is_often.set(away <= OFTEN);
        self.leave_driver(now);
    }

    /// Going away from the driver at that time, after a visit.
    pub(super) fn leave_driver(&self, now: u64) {
        let visits = &self.attendant.visits;
        visits.last.set(now);
        let until = if visits.is_often.get() {
            now + OFTEN
        } else {
            0
        };
        self.counters().visits_until.set(until);
    }

    /// Whether the driver may be left to another worker, or is of no use at all.
    pub(super) fn is_driver_visited(&self) -> bool {
        let shared = self.shared();
        if !shared.driver.is_used() {
            return true;
        }
        let now = clock::now();
        let comes = |i: usize| shared.counters[i].visits_until.get() >= now;
        self.others().any(comes)
    }
}

#[cfg(test)]
mod tests;
