//! [`Selector`]: the system's call that waits for many descriptors.
//!
//! On Linux that is an `epoll`, used directly, with one system call for each wait. Other systems,
//! and the tests of Linux, use the crate `polling`.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;

use std::io;

#[cfg(target_os = "linux")]
use self::epoll::Epoll;
#[cfg(any(test, not(target_os = "linux")))]
use self::portable::Portable;
use super::{
    raw::Raw,
    readiness::ShortCount,
    source::{Event, Interest},
};

pub(super) enum Selector {
    #[cfg(target_os = "linux")]
    Epoll(Epoll),
    #[cfg(any(test, not(target_os = "linux")))]
    Portable(Portable),
}

/// The events of one wait. The thread that has it is the one that waits.
#[derive(Default)]
pub(crate) struct Events {
    #[cfg(target_os = "linux")]
    epoll: epoll::Events,
    #[cfg(any(test, not(target_os = "linux")))]
    portable: Option<polling::Events>,
}

/// Calls the same function of whichever variant there is.
macro_rules! either {
    ($selector:expr, $half:ident => $call:expr) => {
        match $selector {
            #[cfg(target_os = "linux")]
            Selector::Epoll($half) => $call,
            #[cfg(any(test, not(target_os = "linux")))]
            Selector::Portable($half) => $call,
        }
    };
}

impl Selector {
    #[cfg(target_os = "linux")]
    pub(super) fn new() -> io::Result<Self> {
        Epoll::new().map(Self::Epoll)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new() -> io::Result<Self> {
        Self::portable(polling::PollMode::Edge)
    }

    /// Reports events by `mode` if the system can, and otherwise once for each time that it is
    /// asked.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(super) fn portable(mode: polling::PollMode) -> io::Result<Self> {
        Portable::new(mode).map(Self::Portable)
    }

    /// Returns what a short count shows before the first event.
    pub(super) fn short_count(&self) -> ShortCount {
        either!(self, half => half.short_count())
    }

    /// # Safety
    /// The descriptor stays open until it is [deleted](Selector::delete).
    pub(super) unsafe fn add(&self, raw: Raw, key: usize) -> io::Result<()> {
        // SAFETY: the caller promises it.
        either!(self, half => unsafe { half.add(raw, key) })
    }

    /// Asks the system for an event on behalf of a waiter, where it must be asked each time.
    ///
    /// # Safety
    /// The descriptor is open.
    pub(super) unsafe fn arm(&self, raw: Raw, key: usize, interest: Interest) -> io::Result<()> {
        // SAFETY: the caller promises it.
        either!(self, half => unsafe { half.arm(raw, key, interest) })
    }

    /// Called before an event is raised at its source. Asks the system again for the events that it
    /// has not reported yet.
    ///
    /// # Safety
    /// The descriptor has been added, and not deleted yet.
    pub(super) unsafe fn told(&self, raw: Raw, key: usize, event: Event) {
        // SAFETY: the caller promises it.
        either!(self, half => unsafe { half.told(raw, key, event) });
    }

    /// # Safety
    /// The descriptor has been added, and is open.
    pub(super) unsafe fn delete(&self, raw: Raw) {
        // SAFETY: the caller promises it.
        either!(self, half => unsafe { half.delete(raw) });
    }

    /// Waits until that time of the driver's clock. Does not wait if the time is 0.
    pub(super) fn wait(&self, events: &mut Events, until: u64) {
        either!(self, half => half.wait(events, until));
    }

    /// Calls `each` with every event of the last wait.
    pub(super) fn each(&self, events: &Events, each: impl FnMut(usize, Event)) {
        either!(self, half => half.each(events, each));
    }

    pub(super) fn interrupt(&self) {
        either!(self, half => half.interrupt());
    }
}
