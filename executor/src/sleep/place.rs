//! Where a worker parks.

use core::time::Duration;

use joint_switch::thread;

/// Where a worker parks.
pub(crate) enum Parking<'a> {
    Thread,
    /// In the driver, by a function that returns when the driver is rung, after at most that time,
    /// or early for no reason.
    Driver(&'a mut dyn FnMut(Option<Duration>) -> AfterPark),
    /// On its thread, by a function like that.
    ThreadBy(&'a mut dyn FnMut(Option<Duration>) -> AfterPark),
}

/// The next action of a worker that has parked once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterPark {
    /// Park again, unless it has been woken.
    Wait,
    /// Rise by itself, because there is something to do in the driver.
    Rise,
}

impl Parking<'_> {
    pub(crate) fn is_keepers(&self) -> bool {
        matches!(self, Self::Driver(_))
    }

    pub(crate) fn park(&mut self, limit: Option<Duration>) -> AfterPark {
        match (self, limit) {
            (Self::Driver(park) | Self::ThreadBy(park), limit) => return park(limit),
            (Self::Thread, Some(limit)) => thread::park_timeout(limit),
            (Self::Thread, None) => thread::park(),
        }
        AfterPark::Wait
    }
}
