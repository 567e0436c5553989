//! [`EventSource`]: what the driver waits in once there are descriptors.

use alloc::vec::Vec;
use core::task::Waker;
use std::io;

/// The part of the reactor that the driver uses.
pub(crate) trait EventSource: Sized {
    /// The events that one wait returns.
    type Events: Default;

    fn new() -> io::Result<Self>;

    /// Blocks until a descriptor is ready, until that time of the driver's clock, or until
    /// [`interrupt`](EventSource::interrupt) is called. An `interrupt` that came earlier counts.
    /// A deadline of 0 polls without blocking. The caller must wake the wakers that are appended to
    /// `woken`.
    ///
    /// It may return early, with nothing. Waiting again until the same time takes no system call
    /// but the wait itself.
    fn wait(&self, events: &mut Self::Events, until: u64, woken: &mut Vec<Waker>);

    /// Interrupts the current call of [`wait`](EventSource::wait), or else the next one.
    fn interrupt(&self);

    /// Returns whether there is any descriptor. It may be out of date.
    fn has_sources(&self) -> bool;

    /// Shuts the reactor down. Every pending operation fails with an error. Returns the wakers to
    /// wake.
    fn close(&self) -> Vec<Waker>;
}
