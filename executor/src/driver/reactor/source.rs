//! [`Source`]: both directions of one descriptor.

use alloc::vec::Vec;
use core::task::Waker;

use super::{direction::Direction, readiness::ShortCount};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    Write,
}

/// A report of the system about a descriptor: for each direction that is ready, the meaning of a
/// short count from now on.
pub(super) type Event = [Option<ShortCount>; 2];

/// The directions have the order of [`Interest`].
#[derive(Debug)]
pub(crate) struct Source([Direction; 2]);

impl Source {
    pub(crate) fn new(short: ShortCount) -> Self {
        Self([(); 2].map(|()| Direction::new(short)))
    }

    #[inline]
    pub(crate) fn direction(&self, interest: Interest) -> &Direction {
        &self.0[interest as usize]
    }

    /// Raises an event. The caller must wake the wakers that are appended to `woken`.
    pub(super) fn event(&self, event: Event, woken: &mut Vec<Waker>) {
        for (direction, short) in self.0.iter().zip(event) {
            if let Some(short) = short {
                direction.event(short, woken);
            }
        }
    }

    /// Ends both directions: no event will arrive any more. The caller must wake the wakers that
    /// are appended to `woken`.
    pub(crate) fn end(&self, woken: &mut Vec<Waker>) {
        self.0.iter().for_each(|direction| direction.end(woken));
    }
}
