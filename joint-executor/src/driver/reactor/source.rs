//! [`Source`]: the directions of one descriptor.

use alloc::{boxed::Box, vec::Vec};
use core::task::Waker;
use std::sync::OnceLock;

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
pub(crate) struct Source {
    /// To read, and to write.
    directions: [Direction; 2],
    /// Made for the first task that waits for exceptions alone.
    exceptions: OnceLock<Box<Direction>>,
    /// The directions that are registered.
    interest: Interest,
}

impl Source {
    pub(crate) fn new(short: ShortCount, interest: Interest) -> Self {
        let direction = |way| Direction::new(short, interest.by(way).is_some());
        Self {
            directions: [direction(Way::Read), direction(Way::Write)],
            exceptions: OnceLock::new(),
            interest,
        }
    }

    /// Returns the direction to read or to write, or else none.
    #[inline]
    pub(crate) fn direction(&self, way: Way) -> Option<&Direction> {
        self.directions.get(way as usize)
    }

    /// Returns the direction of exceptions, and makes it for the first caller. If the executor has
    /// ended, the direction has ended as well.
    pub(super) fn exceptions(&self, is_closed: bool) -> &Direction {
        self.exceptions.get_or_init(|| {
            let is_asked = self.interest.by(Way::Exception).is_some();
            let direction = Direction::new(ShortCount::Unsure, is_asked);
            if is_closed {
                direction.end(&mut Vec::new());
            }
            Box::new(direction)
        })
    }

    /// The directions that exist, in the order of [`Way::ALL`].
    pub(super) fn all(&self) -> impl Iterator<Item = &Direction> {
        let exceptions = self.exceptions.get().map(Box::as_ref);
        self.directions.iter().chain(exceptions)
    }

    /// Raises an event. The caller must wake the wakers that are appended to `woken`.
    pub(super) fn event(&self, event: Event, woken: &mut Vec<Waker>) {
        for (direction, short) in self.all().zip(event) {
            if let Some(short) = short {
                direction.event(short, woken);
            }
        }
    }

    /// Ends all directions: no event will arrive any more. The caller must wake the wakers that
    /// are appended to `woken`.
    pub(crate) fn end(&self, woken: &mut Vec<Waker>) {
        for direction in self.all() {
            direction.end(woken);
        }
    }
}
