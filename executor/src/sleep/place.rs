//! Where a worker rests, and how it is reached there.

use core::{task::Waker, time::Duration};

use crate::guard::guarded;
use joint_switch::thread::{self, Thread};

/// Where a worker that rests is reached.
pub(super) enum Place {
    Thread(Thread),
    Away(Away),
}

/// How a worker is woken whose thread does something else while the worker rests.
pub(crate) struct Away(Option<Waker>);

impl Away {
    pub(crate) fn new(waker: Waker) -> Self {
        Self(Some(waker))
    }

    pub(super) fn wake(mut self) {
        guarded(|| self.0.take().into_iter().for_each(Waker::wake));
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        guarded(|| drop(self.0.take()));
    }
}

/// Where a worker rests.
pub(crate) enum Parking<'a> {
    Thread,
    /// In the driver, by a function that returns when the driver is rung, after at most that time,
    /// or early for no reason.
    Driver(&'a mut dyn FnMut(Option<Duration>) -> AfterPark),
    /// On its thread as the driver's reserve, by a function like that.
    Reserve(&'a mut dyn FnMut(Option<Duration>) -> AfterPark),
}

/// What a worker that has parked once must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterPark {
    /// Park again, unless it has been woken.
    Wait,
    /// Rise by itself, because there is something to do in the driver.
    #[cfg_attr(not(feature = "io"), allow(dead_code, reason = "no driver"))]
    Rise,
}

impl Parking<'_> {
    pub(crate) fn is_keepers(&self) -> bool {
        matches!(self, Self::Driver(_))
    }

    pub(crate) fn park(&mut self, limit: Option<Duration>) -> AfterPark {
        match (self, limit) {
            (Self::Driver(park) | Self::Reserve(park), limit) => return park(limit),
            (Self::Thread, Some(limit)) => thread::park_timeout(limit),
            (Self::Thread, None) => thread::park(),
        }
        AfterPark::Wait
    }
}
