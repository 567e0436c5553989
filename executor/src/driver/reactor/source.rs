//! [`Source`]: both directions of one descriptor.

use alloc::vec::Vec;
use core::task::Waker;

use super::{
    direction::{Direction, Listed},
    readiness::{Readiness, ShortCount},
};
use joint_switch::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    Write,
}

/// A report of the system about a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The meaning of a short read from now on.
    pub(super) short_read: ShortCount,
    /// The meaning of a short write from now on.
    pub(super) short_write: ShortCount,
}

/// Each array has one element for each direction. The fields that an event touches come first, on
/// one cache line, because most events report both directions of a descriptor.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Source {
    pub(super) readiness: [Readiness; 2],
    pub(super) polled: [Mutex<Option<Waker>>; 2],
    pub(super) listed: [Listed; 2],
}

impl Source {
    pub(crate) fn new(short: ShortCount) -> Self {
        Self {
            readiness: [(); 2].map(|()| Readiness::new(short)),
            polled: [(); 2].map(|()| Mutex::new(None)),
            listed: Default::default(),
        }
    }

    #[inline]
    pub(crate) fn direction(&self, interest: Interest) -> Direction<'_> {
        Direction {
            source: self,
            interest,
        }
    }

    /// Raises an event. The caller must wake the wakers that are appended to `woken`.
    pub(super) fn event(&self, event: Event, woken: &mut Vec<Waker>) {
        if event.readable {
            self.direction(Interest::Read)
                .event(event.short_read, woken);
        }
        if event.writable {
            self.direction(Interest::Write)
                .event(event.short_write, woken);
        }
    }

    /// Ends both directions: no event will arrive any more. The caller must wake the wakers that
    /// are appended to `woken`.
    pub(crate) fn end(&self, woken: &mut Vec<Waker>) {
        self.direction(Interest::Read).end(woken);
        self.direction(Interest::Write).end(woken);
    }
}

#[cfg(test)]
mod tests {
    use core::mem::{align_of, offset_of};

    use super::Source;

    #[test]
    fn the_fields_that_an_event_touches_share_one_cache_line() {
        assert!(align_of::<Source>() >= 64);
        assert!(offset_of!(Source, listed) <= 64);
    }
}
