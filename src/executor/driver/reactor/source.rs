//! [`Source`]: both directions of one descriptor.

use alloc::vec::Vec;
use core::task::Waker;
use std::sync::PoisonError;

use super::{direction::Direction, readiness::ShortCount};
use crate::sync::{Mutex, MutexGuard};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    Write,
}

/// What the system reports about a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// What a short read shows from now on.
    pub(super) short_read: ShortCount,
    /// What a short write shows from now on.
    pub(super) short_write: ShortCount,
}

/// The directions for which the system has been asked for an event, where it must be asked each
/// time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    pub(super) read: bool,
    pub(super) write: bool,
}

#[derive(Debug)]
pub(crate) struct Source {
    read: Direction,
    write: Direction,
    asked: Mutex<Asked>,
}

impl Source {
    pub(crate) fn new(short: ShortCount) -> Self {
        Self {
            read: Direction::new(short),
            write: Direction::new(short),
            asked: Mutex::new(Asked::default()),
        }
    }

    pub(crate) fn direction(&self, interest: Interest) -> &Direction {
        match interest {
            Interest::Read => &self.read,
            Interest::Write => &self.write,
        }
    }

    pub(super) fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises an event. The caller must wake the wakers that are appended to `woken`.
    pub(super) fn event(&self, event: Event, woken: &mut Vec<Waker>) {
        if event.readable {
            self.read.event(event.short_read, woken);
        }
        if event.writable {
            self.write.event(event.short_write, woken);
        }
    }

    /// Ends both directions: no event will arrive any more. The caller must wake the wakers that
    /// are appended to `woken`.
    pub(crate) fn end(&self, woken: &mut Vec<Waker>) {
        self.read.end(woken);
        self.write.end(woken);
    }
}
