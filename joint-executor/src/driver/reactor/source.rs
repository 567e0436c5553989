//! [`Source`]: the directions of one descriptor.

use alloc::vec::Vec;
use core::task::Waker;

use super::{direction::Direction, readiness::ShortCount, ready::Interest};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
    /// Urgent data and errors, for tasks that wait for these alone.
    Exception,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Exception];
}

/// A report of the system about a descriptor: for each direction that is ready, the meaning of a
/// short count from now on.
pub(super) type Event = [Option<ShortCount>; 3];

#[derive(Debug)]
pub(crate) struct Source([Direction; 3]);

impl Source {
    pub(crate) fn new(short: ShortCount, interest: Interest) -> Self {
        let direction = |way, short| Direction::new(short, interest.by(way).is_some());
        Self([
            direction(Way::Read, short),
            direction(Way::Write, short),
            direction(Way::Exception, ShortCount::Unsure),
        ])
    }

    #[inline]
    pub(crate) fn direction(&self, way: Way) -> &Direction {
        &self.0[way as usize]
    }

    /// Raises an event. The caller must wake the wakers that are appended to `woken`.
    pub(super) fn event(&self, event: Event, woken: &mut Vec<Waker>) {
        for way in Way::ALL {
            if let Some(short) = event[way as usize] {
                self.direction(way).event(short, woken);
            }
        }
    }

    /// Ends all directions: no event will arrive any more. The caller must wake the wakers that
    /// are appended to `woken`.
    pub(crate) fn end(&self, woken: &mut Vec<Waker>) {
        for direction in &self.0 {
            direction.end(woken);
        }
    }
}
