//! [`Registration`]: a descriptor that is registered with the reactor while this lives.

use alloc::sync::Arc;
use core::{
    future::poll_fn,
    task::{Context, Poll},
};
use std::io;

use super::{
    Reactor, Source,
    direction::Direction,
    raw::{self, Raw},
    selector::{Selector, System},
    source::Interest,
};

/// Must be dropped before its descriptor is closed.
#[derive(Debug)]
pub(crate) struct Registration<S: Selector = System> {
    pub(super) reactor: Arc<Reactor<S>>,
    pub(super) source: Arc<Source>,
    pub(super) raw: Raw,
}

impl<S: Selector> Registration<S> {
    /// Tries `operation` unless it is known that it would block. Returns pending if it would block.
    /// The next event then wakes the caller's task, unless another task calls this for the same
    /// direction before that.
    ///
    /// `fell_short` returns whether a result is a short count. After one, the next call waits for
    /// an event at once, without a system call. This is only right for descriptors where a short
    /// count means that the other end's data, or the room for our data, is used up. That holds for
    /// TCP. It does not hold for reads from a Unix stream, where a read ends at a message with
    /// descriptors or credentials, nor for anything with packets.
    #[inline]
    pub(crate) fn poll<R>(
        &self,
        interest: Interest,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        let polled = self.direction(interest).poll(cx, operation, fell_short);
        self.armed(interest, polled)
    }

    /// Tries `operation`, and again at each event, until it does not block.
    pub(crate) async fn done<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let mut waiter = self.direction(interest).waiter();
        poll_fn(|cx| self.armed(interest, waiter.poll(cx, &mut operation))).await
    }

    /// Asks the system for the next event if the operation waits for it, where it must be asked
    /// each time.
    #[inline]
    fn armed<R>(&self, interest: Interest, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if polled.is_pending() {
            // SAFETY: the descriptor is open, as the caller that registered it promised.
            unsafe { self.reactor.selector.arm(self.raw, interest) }?;
        }
        polled
    }

    /// Waits until the system says that the direction is ready, now and not before this call. For
    /// operations that are tried elsewhere, whose results are therefore not known here.
    pub(crate) fn poll_ready(
        &self,
        interest: Interest,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(interest, cx, || self.ask(interest), |()| false)
    }

    /// Like [`poll_ready`](Registration::poll_ready), for any number of waiters.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<()> {
        self.done(interest, || self.ask(interest)).await
    }

    fn ask(&self, interest: Interest) -> io::Result<()> {
        let direction = self.direction(interest);
        // An error even if the descriptor is ready. If the system cannot be asked, the descriptor
        // would look ready forever, and a loop that waits here before each attempt would spin.
        direction.served()?;
        // SAFETY: the descriptor is open, as the caller that registered it promised.
        unsafe { raw::ask(self.raw, interest) }?;
        if !raw::CAN_ASK {
            // The system sends an event each time that a waiter arms the descriptor, so this event
            // is used up.
            direction.forget();
        }
        Ok(())
    }

    fn direction(&self, interest: Interest) -> &Direction {
        self.source.direction(interest)
    }
}

impl<S: Selector> Drop for Registration<S> {
    fn drop(&mut self) {
        // SAFETY: this is the registration, and the descriptor is still open, as the caller that
        // registered it promised.
        unsafe { self.reactor.deregister(self.raw, &self.source) };
    }
}
