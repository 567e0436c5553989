//! [`Direction`]: one direction of a descriptor, with those who wait for it, and what they do there.
//!
//! Two kinds wait. Functions called `poll_…` have nothing to remember who called: the last caller's
//! waker takes the place of the one before, as `futures-io` has it. Futures have a place of their
//! own in a list, any number at once, and take it away when they are dropped. An event wakes all of
//! them: what is ready may be enough for more than one, and those that come away with nothing wait
//! again.
//!
//! An operation that is ready takes one from its task's [budget], and one of a task that has used
//! it up is refused before it has done anything.

use alloc::vec::Vec;
use core::{
    future::poll_fn,
    mem,
    task::{Context, Poll, Waker, ready},
};
use std::{io, sync::PoisonError};

use slab::Slab;

use super::readiness::{Raised, Readiness, Waiting};
use crate::{
    sync::{AtomicWaker, Mutex, MutexGuard},
    waker::budget,
};

#[derive(Debug)]
pub(crate) struct Direction {
    readiness: Readiness,
    /// Of the last caller of a `poll_…` function.
    polled: AtomicWaker,
    /// A place for each future that has waited and is not dropped yet, empty once an event has
    /// taken the waker.
    waiters: Mutex<Slab<Option<Waker>>>,
}

/// One future's place in the list. It is taken away when this is dropped.
struct Place<'a> {
    direction: &'a Direction,
    key: Option<usize>,
}

/// An operation on a descriptor.
pub(crate) trait Attempt<R> {
    fn attempt(&mut self) -> io::Result<R>;

    /// Whether this result tells that there is no more at the moment.
    fn fell_short(&self, result: &R) -> bool;

    /// Has the system tell of the next event, where it has to be asked each time. After
    /// registering.
    fn arm(&self) -> io::Result<()>;
}

impl Direction {
    /// With `unsure`, short counts never tell anything here.
    pub(super) fn new(unsure: bool) -> Self {
        Self {
            readiness: Readiness::new(unsure),
            polled: AtomicWaker::new(),
            waiters: Mutex::new(Slab::new()),
        }
    }

    /// An event. See [`Readiness::event`]. Those who waited are to be woken by the caller.
    pub(crate) fn event(&self, unsure: bool, woken: &mut Vec<Waker>) {
        if let Raised::Wake = self.readiness.event(unsure) {
            self.take_wakers(woken);
        }
    }

    /// No event will come any more. Those who waited are to be woken by the caller.
    pub(crate) fn end(&self, woken: &mut Vec<Waker>) {
        if let Raised::Wake = self.readiness.end() {
            self.take_wakers(woken);
        }
    }

    fn take_wakers(&self, woken: &mut Vec<Waker>) {
        woken.extend(self.polled.take());
        let mut waiters = self.lock();
        woken.extend(waiters.iter_mut().filter_map(|(_, waker)| waker.take()));
    }

    /// An error when no event will come any more.
    pub(super) fn served(&self) -> io::Result<()> {
        match self.readiness.look().is_gone() {
            true => Err(gone()),
            false => Ok(()),
        }
    }

    /// Forgets that it was ready. Only where each who waits [asks](Attempt::arm) the system to tell
    /// of it again.
    pub(super) fn forget(&self) {
        self.readiness.clear(self.readiness.look());
    }

    /// Tries until it is done or would block and nothing is known to the contrary.
    fn run<R>(&self, attempt: &mut impl Attempt<R>) -> Poll<io::Result<R>> {
        loop {
            let seen = self.readiness.look();
            if !seen.is_ready() && !seen.is_gone() {
                return Poll::Pending;
            }
            match attempt.attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.readiness.clear(seen) && seen.is_gone() {
                        return Poll::Ready(Err(gone()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => {
                    if attempt.fell_short(&result) {
                        self.readiness.fell_short(seen);
                    }
                    return Poll::Ready(Ok(result));
                }
                error => return Poll::Ready(error),
            }
        }
    }

    /// As [`run`](Direction::run), if the task's budget allows it; when it would block, `wait`
    /// registers, and it is tried again at the next event.
    fn poll_by<R>(
        &self,
        cx: &mut Context<'_>,
        attempt: &mut impl Attempt<R>,
        mut wait: impl FnMut(&Waker) -> Waiting,
    ) -> Poll<io::Result<R>> {
        ready!(budget::poll_turn(cx));
        loop {
            if let Poll::Ready(result) = self.run(attempt) {
                budget::spend();
                return Poll::Ready(result);
            }
            if wait(cx.waker()) == Waiting::Waits {
                return match attempt.arm() {
                    Ok(()) => Poll::Pending,
                    Err(error) => Poll::Ready(Err(error)),
                };
            }
        }
    }

    /// Tries until it would block; then the caller is the one who waits, in the place of an earlier
    /// caller.
    #[inline]
    pub(crate) fn poll<R>(
        &self,
        cx: &mut Context<'_>,
        mut attempt: impl Attempt<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_by(cx, &mut attempt, |waker| {
            self.polled.register(waker);
            self.readiness.wait()
        })
    }

    /// Tries until it would block, and again at each event.
    pub(crate) async fn done<R>(&self, mut attempt: impl Attempt<R>) -> io::Result<R> {
        let mut place = Place {
            direction: self,
            key: None,
        };
        poll_fn(|cx| self.poll_by(cx, &mut attempt, |waker| place.wait(waker))).await
    }

    fn lock(&self) -> MutexGuard<'_, Slab<Option<Waker>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Registers.
    fn wait(&mut self, waker: &Waker) -> Waiting {
        // Wakers are cloned and dropped outside of the lock: that may run anything.
        let waker = Some(waker.clone());
        let mut waiters = self.direction.lock();
        let before = match self.key {
            Some(key) => mem::replace(&mut waiters[key], waker),
            None => {
                self.key = Some(waiters.insert(waker));
                None
            }
        };
        let waiting = self.direction.readiness.wait();
        drop(waiters);
        drop(before);
        waiting
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.direction.lock().remove(key);
            drop(waker);
        }
    }
}

/// What who has to wait is told when nobody will look at the descriptor any more.
#[cold]
pub(super) fn gone() -> io::Error {
    io::Error::other(
        "the executor that served this descriptor is gone: keep it alive for as long as its descriptors are waited for",
    )
}
