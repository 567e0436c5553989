//! [`Registration`]: a descriptor that is registered with the reactor while this lives.

use alloc::sync::Arc;
use core::{
    future::poll_fn,
    task::{Context, Poll},
};
use std::io;

use super::{
    Interest, Reactor, Ready, Source,
    direction::Direction,
    raw::{self, Raw},
    readiness::Seen,
    selector::{Selector, System},
    source::Way,
};
use joint::budget;

/// Must be dropped before its descriptor is closed.
#[derive(Debug)]
pub(crate) struct Registration<S: Selector = System> {
    pub(super) reactor: Arc<Reactor<S>>,
    pub(super) source: Arc<Source>,
    pub(super) raw: Raw,
}

/// What a task has found that waits, and the look at each direction before it was found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) ready: Ready,
    seen: [Option<Seen>; 3],
}

impl Found {
    fn add(&mut self, way: Way, (ready, seen): (Ready, Seen)) {
        self.ready = self.ready | ready;
        self.seen[way as usize] = Some(seen);
    }
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
        way: Way,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        let polled = self.direction(way).poll(cx, operation, fell_short);
        self.armed(way, counted(polled))
    }

    /// Tries `operation`, and again at each event, until it does not block. `fell_short` is as for
    /// [`poll`](Registration::poll).
    pub(crate) async fn done<R>(
        &self,
        way: Way,
        mut operation: impl FnMut() -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> io::Result<R> {
        let mut waiter = self.direction(way).waiter();
        poll_fn(|cx| {
            let polled = waiter.poll(cx, &mut operation, &fell_short);
            self.armed(way, counted(polled))
        })
        .await
    }

    /// Asks the system for the next event if the operation waits for it, where it must be asked
    /// each time.
    #[inline]
    fn armed<R>(&self, way: Way, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        match polled {
            // SAFETY: the descriptor is open, as the caller that registered it promised.
            Poll::Pending => match unsafe { self.reactor.selector.arm(self.raw, way) } {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
            ready => ready,
        }
    }

    /// Waits until the system says that the direction is ready, now and not before this call. For
    /// operations that are tried elsewhere, whose results are therefore not known here.
    pub(crate) fn poll_asked(&self, way: Way, cx: &mut Context<'_>) -> Poll<io::Result<Found>> {
        let Some(interest) = (Interest::READABLE | Interest::WRITABLE).by(way) else {
            unreachable!("both directions can be asked");
        };
        let ask = || self.ask(way, interest);
        let polled = self.direction(way).poll(cx, ask, |_| false);
        self.armed(way, polled).map_ok(|one| {
            let mut found = Found::default();
            found.add(way, one);
            found
        })
    }

    /// Waits until the direction is assumed to be ready. For operations whose results are reported
    /// by [`attempted`](Registration::attempted).
    pub(crate) fn poll_known(&self, way: Way, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.armed(way, self.direction(way).poll_served(cx))
    }

    /// Like [`poll_known`](Registration::poll_known), for any number of waiters.
    pub(crate) async fn known(&self, way: Way) -> io::Result<()> {
        let mut waiter = self.direction(way).waiter();
        poll_fn(|cx| self.armed(way, waiter.poll_served(cx))).await
    }

    /// Waits until the system says that one of the directions is ready.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Found> {
        let mut waiters = Way::ALL.map(|way| {
            let part = interest.by(way)?;
            Some((way, part, self.direction(way).waiter()))
        });
        poll_fn(|cx| {
            let mut found = Found::default();
            for (way, part, waiter) in waiters.iter_mut().flatten() {
                let polled = waiter.poll(cx, &mut || self.ask(*way, *part), &|_| false);
                if let Poll::Ready(one) = self.armed(*way, polled) {
                    found.add(*way, one?);
                }
            }
            match found.ready.is_empty() {
                true => Poll::Pending,
                false => Poll::Ready(Ok(found)),
            }
        })
        .await
    }

    fn ask(&self, way: Way, interest: Interest) -> io::Result<(Ready, Seen)> {
        let direction = self.direction(way);
        let seen = direction.readiness.look();
        // An error even if the descriptor is ready. If the system cannot be asked, the descriptor
        // would look ready forever, and a loop that waits here before each attempt would spin.
        seen.served()?;
        // SAFETY: the descriptor is open, as the caller that registered it promised.
        let ready = unsafe { raw::ask(self.raw, interest) }?;
        Ok((ready, seen))
    }

    /// Does what an attempt has left to do, which the budget counts unless it would have blocked.
    /// In that case, the next waiter waits for an event. `found` is what was seen before it.
    #[inline(never)]
    pub(crate) fn attempted(&self, mut found: Found, would_block: bool) {
        match would_block {
            true => self.clear(&mut found, Ready::ALL),
            false => budget::spend(),
        }
    }

    #[inline(never)]
    pub(crate) fn look(&self, interest: Interest) -> Found {
        let mut found = Found::default();
        for way in Way::ALL {
            if interest.by(way).is_some() {
                found.add(way, (Ready::EMPTY, self.direction(way).readiness.look()));
            }
        }
        found
    }

    /// Forgets a part of what was found, unless an event has arrived since. Later operations and
    /// waiters in these directions wait for an event.
    pub(crate) fn clear(&self, found: &mut Found, what: Ready) {
        found.ready = found.ready - what;
        for way in Way::ALL {
            if (way.finds() & what).is_empty() {
                continue;
            }
            if let Some(seen) = found.seen[way as usize].take() {
                self.direction(way).readiness.clear(seen);
            }
        }
    }

    fn direction(&self, way: Way) -> &Direction {
        self.source.direction(way)
    }
}

/// Takes an operation that is ready from the task's budget.
#[inline]
fn counted<R>(polled: Poll<R>) -> Poll<R> {
    if polled.is_ready() {
        budget::spend();
    }
    polled
}

pub(crate) fn would_block<R>(result: &io::Result<R>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

impl<S: Selector> Drop for Registration<S> {
    fn drop(&mut self) {
        // SAFETY: this is the registration, and the descriptor is still open, as the caller that
        // registered it promised.
        unsafe { self.reactor.deregister(self.raw, &self.source) };
    }
}
