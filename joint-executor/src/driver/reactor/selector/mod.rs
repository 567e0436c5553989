//! [`Selector`]: the system's call that waits for many descriptors.
//!
//! On Linux that is an `epoll`, used directly, with one system call for each wait. Other systems,
//! and the tests of Linux, use the crate `polling`, which takes five on Linux.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;

use core::fmt;
use std::io;

#[cfg(target_os = "linux")]
pub(crate) use self::epoll::Epoll as System;
#[cfg(test)]
pub(crate) use self::portable::Portable;
#[cfg(not(target_os = "linux"))]
pub(crate) use self::portable::Portable as System;
use super::{
    raw::Raw,
    readiness::ShortCount,
    ready::Interest,
    source::{Event, Way},
};

pub(crate) trait Selector: fmt::Debug + Send + Sync + Sized + 'static {
    /// The events of one wait. The thread that has it is the one that waits.
    type Events: Default + Send;

    /// The meaning of a short count until the first event.
    const SHORT_COUNT: ShortCount;

    fn new() -> io::Result<Self>;

    /// Adds a descriptor, whose events may be limited to those of an interest.
    ///
    /// # Safety
    /// The descriptor stays open until it is [deleted](Selector::delete).
    unsafe fn add(&self, raw: Raw, interest: Interest) -> io::Result<()>;

    /// Asks the system for an event on behalf of a waiter, where it must be asked each time.
    ///
    /// # Safety
    /// The descriptor is open.
    unsafe fn arm(&self, _raw: Raw, _way: Way) -> io::Result<()> {
        Ok(())
    }

    /// Called before an event is raised at its source. Asks the system again for the events that it
    /// has not reported yet, where it must be asked each time.
    ///
    /// # Safety
    /// The descriptor has been added, and not deleted yet.
    unsafe fn told(&self, _raw: Raw, _event: Event) {}

    /// # Safety
    /// The descriptor has been added, and is open.
    unsafe fn delete(&self, raw: Raw);

    /// Waits until that time of the driver's clock. Does not wait if the time is 0.
    fn wait(&self, events: &mut Self::Events, until: u64);

    /// Calls `each` with every event of the last wait.
    fn each(&self, events: &Self::Events, each: impl FnMut(Raw, Event));

    fn interrupt(&self);
}
