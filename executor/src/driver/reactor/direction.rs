//! [`Direction`]: one direction of a descriptor, its waiters, and their operations.
//!
//! There are two kinds of waiters. Functions called `poll_…` have no place to remember their
//! caller, so the last caller's waker replaces the one before, as in `futures-io`. Futures have a
//! place of their own in a list, in any number, and remove it when they are dropped. An event wakes
//! all waiters, because what is ready may be enough for more than one of them. Those that find
//! nothing wait again.
//!
//! An operation that is ready takes one unit from its task's [budget]. If the task has used up its
//! budget, the operation is refused before it has done anything.

use alloc::vec::Vec;
use core::{
    future::poll_fn,
    mem,
    task::{Context, Poll, Waker, ready},
};
use std::io;

use slab::Slab;

use super::{
    readiness::{Cleared, Raised, Readiness, ShortCount, Waiter, Waiting},
    source::{Interest, Source},
};
use crate::guard::lock;
use joint::waker::budget;
use joint_switch::Mutex;

/// One direction of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction<'a> {
    pub(super) source: &'a Source,
    pub(super) interest: Interest,
}

/// A place for each future that has waited and is not dropped yet. It is empty once an event has
/// taken the waker.
#[derive(Debug, Default)]
pub(super) struct Listed(Mutex<Slab<Option<Waker>>>);

/// One future's place in the list. Dropping it removes the place.
struct FdWaiter<'a> {
    direction: &'a Direction<'a>,
    key: Option<usize>,
}

/// An operation on a descriptor.
pub(crate) trait Attempt<R> {
    fn attempt(&mut self) -> io::Result<R>;

    /// Returns whether this result shows that there is no more at the moment.
    fn fell_short(&self, result: &R) -> bool;

    /// Asks the system for the next event, where it must be asked each time. Called after
    /// registering.
    fn arm(&self) -> io::Result<()>;
}

impl<'a> Direction<'a> {
    #[inline]
    fn readiness(self) -> &'a Readiness {
        &self.source.readiness[self.interest as usize]
    }

    /// The waker of the last caller of a `poll_…` function.
    #[inline]
    fn polled(self) -> &'a Mutex<Option<Waker>> {
        &self.source.polled[self.interest as usize]
    }

    #[inline]
    fn listed(self) -> &'a Listed {
        &self.source.listed[self.interest as usize]
    }

    /// Raises an event. See [`Readiness::event`]. The caller must wake the wakers that are appended
    /// to `woken`.
    pub(crate) fn event(self, short: ShortCount, woken: &mut Vec<Waker>) {
        self.take_wakers(self.readiness().event(short), woken);
    }

    /// Ends the direction: no event will arrive any more. The caller must wake the wakers that are
    /// appended to `woken`.
    pub(crate) fn end(self, woken: &mut Vec<Waker>) {
        self.take_wakers(self.readiness().end(), woken);
    }

    #[inline]
    fn take_wakers(self, raised: Raised, woken: &mut Vec<Waker>) {
        if raised.wake_caller {
            woken.extend(lock(self.polled()).take());
        }
        if raised.wake_listed {
            self.take_listed(woken);
        }
    }

    fn take_listed(self, woken: &mut Vec<Waker>) {
        let mut waiters = lock(&self.listed().0);
        woken.extend(waiters.iter_mut().filter_map(|(_, waker)| waker.take()));
    }

    /// Fails if no event will arrive any more.
    pub(super) fn served(self) -> io::Result<()> {
        match self.readiness().look().is_gone() {
            true => Err(gone()),
            false => Ok(()),
        }
    }

    /// Forgets that the direction was ready. Only allowed if each waiter [asks](Attempt::arm) the
    /// system for an event again.
    pub(super) fn forget(self) {
        self.readiness().clear(self.readiness().look());
    }

    /// Tries until the operation is done, or until it would block and no event has arrived since
    /// the look at the word.
    fn run<R>(self, attempt: &mut impl Attempt<R>) -> Poll<io::Result<R>> {
        loop {
            let seen = self.readiness().look();
            if !seen.is_ready() && !seen.is_gone() {
                return Poll::Pending;
            }
            match attempt.attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.readiness().clear(seen) == Cleared::Done && seen.is_gone() {
                        return Poll::Ready(Err(gone()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => {
                    if attempt.fell_short(&result) {
                        self.readiness().fell_short(seen);
                    }
                    return Poll::Ready(Ok(result));
                }
                error => return Poll::Ready(error),
            }
        }
    }

    /// Like [`run`](Direction::run), if the task's budget allows it. If the operation would block,
    /// `wait` registers the task, and the operation is tried again at the next event.
    fn poll_by<R>(
        &self,
        cx: &mut Context<'_>,
        attempt: &mut impl Attempt<R>,
        mut wait: impl FnMut(&Waker) -> Waiting,
    ) -> Poll<io::Result<R>> {
        ready!(budget::poll_proceed(cx));
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

    /// Tries until the operation would block. The caller is then the waiter, in place of an earlier
    /// caller.
    #[inline]
    pub(crate) fn poll<R>(
        &self,
        cx: &mut Context<'_>,
        mut attempt: impl Attempt<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_by(cx, &mut attempt, |waker| {
            // Wakers are cloned and dropped outside the lock, because that may run any code.
            let waker = Some(waker.clone());
            let before = mem::replace(&mut *lock(self.polled()), waker);
            let waiting = self.readiness().wait(Waiter::Caller);
            drop(before);
            waiting
        })
    }

    /// Tries until the operation does not block, and again at each event.
    pub(crate) async fn done<R>(self, mut attempt: impl Attempt<R>) -> io::Result<R> {
        let mut waiter = FdWaiter {
            direction: &self,
            key: None,
        };
        poll_fn(|cx| self.poll_by(cx, &mut attempt, |waker| waiter.wait(waker))).await
    }
}

impl FdWaiter<'_> {
    /// Registers a waker.
    fn wait(&mut self, waker: &Waker) -> Waiting {
        // Wakers are cloned and dropped outside the lock, because that may run any code.
        let waker = Some(waker.clone());
        let mut waiters = lock(&self.direction.listed().0);
        let before = match self.key {
            Some(key) => mem::replace(&mut waiters[key], waker),
            None => {
                self.key = Some(waiters.insert(waker));
                None
            }
        };
        let waiting = self.direction.readiness().wait(Waiter::Listed);
        drop(waiters);
        drop(before);
        waiting
    }
}

impl Drop for FdWaiter<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = lock(&self.direction.listed().0).remove(key);
            drop(waker);
        }
    }
}

/// Returns the error of a waiter if no thread will check the descriptor any more.
#[cold]
pub(super) fn gone() -> io::Error {
    io::Error::other(
        "the executor that watched this descriptor is gone; keep the executor alive as long as its \
         descriptors are in use",
    )
}
