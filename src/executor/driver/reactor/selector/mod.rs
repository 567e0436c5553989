//! [`Selector`]: the system's call that waits for many descriptors.
//!
//! On Linux that is an `epoll` used directly, by one system call for each wait; elsewhere, and
//! where that is refused, what the crate `polling` makes of the system.

#[cfg(target_os = "linux")]
mod epoll;
mod portable;

use std::io;

#[cfg(target_os = "linux")]
use self::epoll::Epoll;
use self::portable::Portable;
use super::{
    raw::Raw,
    source::{Event, Interest, Source},
};

pub(super) enum Selector {
    #[cfg(target_os = "linux")]
    Epoll(Epoll),
    Portable(Portable),
}

/// What the system tells of at once. Whoever has it is the one who waits.
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

/// Calls the same function of the half that there is.
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
        Self::portable(false)
    }

    /// With `oneshot`, as where the system tells of a descriptor once for each time that it is
    /// asked.
    pub(super) fn portable(oneshot: bool) -> io::Result<Self> {
        Portable::new(oneshot).map(Self::Portable)
    }

    /// Whether events do not tell of hang-ups, so that one can be behind a read that fell short.
    pub(super) fn is_unsure(&self) -> bool {
        matches!(self, Self::Portable(_))
    }

    /// # Safety
    /// The descriptor stays open until it is [deleted](Selector::delete).
    pub(super) unsafe fn add(&self, raw: Raw, key: usize) -> io::Result<()> {
        // SAFETY: passed on from the caller.
        either!(self, half => unsafe { half.add(raw, key) })
    }

    /// Somebody waits: has the system tell of it, where it has to be asked each time.
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
            // SAFETY: passed on from the caller.
            Self::Portable(half) => unsafe { half.arm(raw, key, source, interest) },
        }
    }

    /// Before an event is told to its source: has the system tell of what it has not told of yet.
    ///
    /// # Safety
    /// The descriptor has been added, and not deleted yet.
    pub(super) unsafe fn told(&self, raw: Raw, key: usize, source: &Source, event: Event) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Epoll(_) => {}
            // SAFETY: passed on from the caller.
            Self::Portable(half) => unsafe { half.told(raw, key, source, event) },
        }
    }

    /// # Safety
    /// The descriptor has been added, and is open.
    pub(super) unsafe fn delete(&self, raw: Raw) {
        // SAFETY: passed on from the caller.
        either!(self, half => unsafe { half.delete(raw) });
    }

    /// Waits until that time, in the driver's clock; not at all until 0.
    pub(super) fn wait(&self, events: &mut Events, until: u64) {
        either!(self, half => half.wait(events, until));
    }

    /// Hands out what the last wait has brought.
    pub(super) fn each(&self, events: &Events, each: impl FnMut(usize, Event)) {
        either!(self, half => half.each(events, each));
    }

    pub(super) fn interrupt(&self) {
        either!(self, half => half.interrupt());
    }
}
