//! [`Selector`]: the system's call that waits for many descriptors.
//!
//! On Linux that is an `epoll`, used directly, with one system call for each wait. On other
//! systems, and if the `epoll` is refused, the crate `polling` is used.

#[cfg(target_os = "linux")]
mod epoll;
mod portable;

use std::io;

use polling::PollMode;

#[cfg(target_os = "linux")]
use self::epoll::Epoll;
use self::portable::Portable;
use super::{
    raw::Raw,
    readiness::ShortCount,
    source::{Event, Interest, Source},
};

pub(super) enum Selector {
    #[cfg(target_os = "linux")]
    Epoll(Epoll),
    Portable(Portable),
}

/// The events of one wait. The thread that has it is the one that waits.
#[derive(Default)]
pub(crate) struct Events {
    #[cfg(target_os = "linux")]
    epoll: epoll::Events,
    portable: Option<polling::Events>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

/// Calls the same function of whichever variant there is.
macro_rules! either {
    ($selector:expr, $half:ident => $call:expr) => {
        match $selector {
            #[cfg(target_os = "linux")]
            Selector::Epoll($half) => $call,
            Selector::Portable($half) => $call,
        }
    };
}

impl Selector {
    pub(super) fn new() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(epoll) = Epoll::new()? {
            return Ok(Self::Epoll(epoll));
        }
        Self::portable(PollMode::Edge)
    }

    /// Reports events by `mode` if the system can, and otherwise once for each time that it is
    /// asked.
    pub(super) fn portable(mode: PollMode) -> io::Result<Self> {
        Portable::new(mode).map(Self::Portable)
    }

    /// Returns what a short count shows before the first event.
    pub(super) fn short_count(&self) -> ShortCount {
        match self {
            #[cfg(target_os = "linux")]
            Self::Epoll(_) => ShortCount::Exhausted,
            // Its events do not report hang-ups, so a hang-up may be behind it.
            Self::Portable(_) => ShortCount::Unsure,
        }
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
    pub(super) unsafe fn arm(
        &self,
        raw: Raw,
        key: usize,
        source: &Source,
        interest: Interest,
    ) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Epoll(_) => Ok(()),
            // SAFETY: the caller promises it.
            Self::Portable(half) => unsafe { half.arm(raw, key, source, interest) },
        }
    }

    /// Called before an event is raised at its source. Asks the system again for the events that it
    /// has not reported yet.
    ///
    /// # Safety
    /// The descriptor has been added, and not deleted yet.
    pub(super) unsafe fn told(&self, raw: Raw, key: usize, source: &Source, event: Event) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Epoll(_) => {}
            // SAFETY: the caller promises it.
            Self::Portable(half) => unsafe { half.told(raw, key, source, event) },
        }
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
