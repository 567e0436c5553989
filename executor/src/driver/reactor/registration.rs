//! [`Registration`]: a descriptor that is registered with the reactor while this lives.

use alloc::sync::Arc;
use core::task::{Context, Poll};
use std::io;

use super::{
    Reactor, Source,
    direction::{Attempt, Direction},
    raw::{self, Raw},
    source::Interest,
};

/// Must be dropped before its descriptor is closed.
#[derive(Debug)]
pub(crate) struct Registration {
    reactor: Arc<Reactor>,
    source: Arc<Source>,
    key: usize,
    raw: Raw,
}

impl Registration {
    pub(super) fn new(reactor: Arc<Reactor>, source: Arc<Source>, key: usize, raw: Raw) -> Self {
        Self {
            reactor,
            source,
            key,
            raw,
        }
    }

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
        self.direction(interest)
            .poll(cx, self.operation(interest, operation, fell_short))
    }

    /// Tries `operation`, and again at each event, until it does not block.
    pub(crate) async fn done<R>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        self.direction(interest)
            .done(self.operation(interest, operation, |_: &R| false))
            .await
    }

    /// Waits until the system says that the direction is ready, now and not before this call. For
    /// operations that are tried elsewhere, whose results are therefore not known here.
    pub(crate) fn poll_ready(
        &self,
        interest: Interest,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let ready = self.poll(interest, cx, || self.ask(interest), |()| false);
        ready.map_ok(|()| self.asked(interest))
    }

    /// Like [`poll_ready`](Registration::poll_ready), for any number of waiters.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<()> {
        self.done(interest, || self.ask(interest)).await?;
        self.asked(interest);
        Ok(())
    }

    fn ask(&self, interest: Interest) -> io::Result<()> {
        // An error even if the descriptor is ready. If the system cannot be asked, the descriptor
        // would look ready forever, and a loop that waits here before each attempt would spin.
        self.direction(interest).served()?;
        // SAFETY: the descriptor is open, as the caller that registered it promised.
        unsafe { raw::ask(self.raw, interest) }
    }

    /// If the system cannot be asked, it sends an event each time that a waiter arms the
    /// descriptor, so this event is used up.
    fn asked(&self, interest: Interest) {
        if !raw::CAN_ASK {
            self.direction(interest).forget();
        }
    }

    fn direction(&self, interest: Interest) -> Direction<'_> {
        self.source.direction(interest)
    }

    fn operation<F, S>(&self, interest: Interest, run: F, fell_short: S) -> Operation<'_, F, S> {
        Operation {
            registration: self,
            interest,
            run,
            fell_short,
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: the key is this registration's, and the descriptor is still open, as the caller
        // that registered it promised.
        unsafe { self.reactor.deregister(self.key, self.raw) };
    }
}

struct Operation<'a, F, S> {
    registration: &'a Registration,
    interest: Interest,
    run: F,
    fell_short: S,
}

impl<R, F, S> Attempt<R> for Operation<'_, F, S>
where
    F: FnMut() -> io::Result<R>,
    S: Fn(&R) -> bool,
{
    #[inline]
    fn attempt(&mut self) -> io::Result<R> {
        (self.run)()
    }

    #[inline]
    fn fell_short(&self, result: &R) -> bool {
        (self.fell_short)(result)
    }

    fn arm(&self) -> io::Result<()> {
        let Registration {
            reactor, key, raw, ..
        } = self.registration;
        // SAFETY: the descriptor is open, as the caller that registered it promised.
        unsafe { reactor.selector.arm(*raw, *key, self.interest) }
    }
}
