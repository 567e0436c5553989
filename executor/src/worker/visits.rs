//! How often a worker visits the driver, so that an idle worker knows whether it must stay there.
//!
//! A worker that runs dry again and again checks the driver each time, and sleeps there if nothing
//! is ready. If another worker had taken that place meanwhile, each message of a connection would
//! wake the other worker. That was measured at 39 microseconds a message, against 13 otherwise. An
//! idle worker therefore leaves the driver to a worker that visits it **often**.
//!
//! A worker that never runs dry visits the driver only in its turn, after 61 runs. That takes
//! milliseconds if each run takes 45 microseconds. Such a worker does not visit often, so an idle
//! worker keeps the driver. If the runs are short, it does visit often, and keeps the driver
//! itself.

use core::cell::Cell;

use super::Worker;
use crate::{driver::clock, policy::NEAR_THE_DRIVER};

/// A worker's memory of its visits.
#[derive(Default)]
pub(super) struct Visits {
    /// The time of the last visit to the driver, by the driver's clock.
    last: Cell<u64>,
    /// Whether it had been away for at most [`NEAR_THE_DRIVER`] at its last visit.
    is_often: Cell<bool>,
}

impl Worker {
    /// Records that the worker is at the driver at the time `now`. Returns how long it was away.
    pub(super) fn visit(&self, now: u64) -> u64 {
        let visits = &self.attendant.visits;
        let away = now.saturating_sub(visits.last.get());
        visits.is_often.set(away <= NEAR_THE_DRIVER);
        self.leave_driver(now);
        away
    }

    /// Records that the worker leaves the driver at the time `now`, after a visit.
    pub(super) fn leave_driver(&self, now: u64) {
        let visits = &self.attendant.visits;
        visits.last.set(now);
        let until = if visits.is_often.get() {
            now + NEAR_THE_DRIVER
        } else {
            0
        };
        self.counters().visits_until.set(until);
    }

    /// Returns whether the driver may be left to another worker, or is not used at all.
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
