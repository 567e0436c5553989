//! [`Direction`]: one direction of a descriptor, its waiters, and their operations.
//!
//! There are two kinds of waiters. Functions called `poll_…` have no place to remember their
//! caller, so the last caller's waker replaces the one before, as in `futures-io`. Futures have a
//! place of their own in a list, in any number, and remove it when they are dropped. An event wakes
//! all waiters, because what is ready may be enough for more than one of them. Those that find
//! nothing wait again.
//!
//! If the task has used up its [budget], the operation is refused before it has done anything. What
//! is ready takes nothing from the budget here: an operation does (`registration.rs`), and a wait
//! does not, because the operation follows.

use alloc::vec::Vec;
use core::{
    mem,
    task::{Context, Poll, Waker, ready},
};
use std::io;

use slab::Slab;

use super::readiness::{Readiness, ShortCount};
use crate::guard::lock;
use joint::budget::{self, Turn};
use joint_switch::Mutex;

#[derive(Debug)]
pub(crate) struct Direction {
    pub(super) readiness: Readiness,
    waiters: Mutex<Waiters>,
    turn: SharedTurn,
}

/// The [`Turn`] of all callers of `poll_…` functions.
#[derive(Debug, Default)]
pub(crate) struct SharedTurn(Mutex<Turn>);

impl SharedTurn {
    #[inline]
    pub(crate) fn poll_proceed(&self, cx: &mut Context<'_>) -> Poll<()> {
        match budget::has_left() {
            true => Poll::Ready(()),
            false => self.poll_late(cx),
        }
    }

    #[cold]
    fn poll_late(&self, cx: &mut Context<'_>) -> Poll<()> {
        // Taken out, because a refusal wakes the task, which may run any code.
        let mut turn = mem::take(&mut *lock(&self.0));
        let polled = turn.poll_proceed(cx);
        *lock(&self.0) = turn;
        polled
    }
}

/// The wakers that wait for the next event. Each is taken by the event.
#[derive(Debug, Default)]
struct Waiters {
    /// That of the last caller of a `poll_…` function.
    caller: Option<Waker>,
    /// One place for each future that has waited and is not dropped yet.
    futures: Slab<Option<Waker>>,
}

/// One future's place in the list. Dropping it removes the place.
pub(crate) struct FdWaiter<'a> {
    direction: &'a Direction,
    key: Option<usize>,
    turn: Turn,
}

impl Direction {
    pub(super) fn new(short: ShortCount) -> Self {
        Self {
            readiness: Readiness::new(short),
            waiters: Mutex::default(),
            turn: SharedTurn::default(),
        }
    }

    /// Raises an event. See [`Readiness::event`]. The caller must wake the wakers that are appended
    /// to `woken`.
    pub(crate) fn event(&self, short: ShortCount, woken: &mut Vec<Waker>) {
        self.take_wakers(self.readiness.event(short), woken);
    }

    /// Ends the direction: no event will arrive any more. The caller must wake the wakers that are
    /// appended to `woken`.
    pub(super) fn end(&self, woken: &mut Vec<Waker>) {
        self.take_wakers(self.readiness.end(), woken);
    }

    fn take_wakers(&self, are_due: bool, woken: &mut Vec<Waker>) {
        if are_due {
            let mut waiters = lock(&self.waiters);
            woken.extend(waiters.caller.take());
            let futures = waiters.futures.iter_mut();
            woken.extend(futures.filter_map(|(_, waker)| waker.take()));
        }
    }

    /// Calls `f` with the waker of each waiter, under the lock.
    pub(super) fn each_waker(&self, f: impl FnMut(&Waker)) {
        let Waiters { caller, futures } = &*lock(&self.waiters);
        let futures = futures.iter().filter_map(|(_, waker)| waker.as_ref());
        caller.iter().chain(futures).for_each(f);
    }

    pub(super) fn served(&self) -> io::Result<()> {
        match self.readiness.look().is_gone() {
            true => Err(gone()),
            false => Ok(()),
        }
    }

    /// Tries until the operation is done, or until it would block and no event has arrived since
    /// the look at the word. `fell_short` returns whether a result shows that there is no more at
    /// the moment.
    #[inline]
    fn run<R>(
        &self,
        attempt: &mut impl FnMut() -> io::Result<R>,
        fell_short: &impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        loop {
            let seen = self.readiness.look();
            if !seen.is_ready() && !seen.is_gone() {
                return Poll::Pending;
            }
            match attempt() {
                Ok(result) => {
                    if fell_short(&result) {
                        self.readiness.fell_short(seen);
                    }
                    return Poll::Ready(Ok(result));
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock if seen.is_gone() => return Poll::Ready(Err(gone())),
                    io::ErrorKind::WouldBlock => self.readiness.clear(seen),
                    io::ErrorKind::Interrupted => {}
                    _ => return Poll::Ready(Err(error)),
                },
            }
        }
    }

    /// Like [`run`](Direction::run). If the operation would block,
    /// `register` puts the task's waker among the waiters and returns the waker that it replaces,
    /// and the operation is tried again at the next event.
    #[inline]
    fn poll_by<R>(
        &self,
        cx: &mut Context<'_>,
        attempt: &mut impl FnMut() -> io::Result<R>,
        fell_short: &impl Fn(&R) -> bool,
        mut register: impl FnMut(&mut Waiters, Waker) -> Option<Waker>,
    ) -> Poll<io::Result<R>> {
        loop {
            if let Poll::Ready(result) = self.run(attempt, fell_short) {
                return Poll::Ready(result);
            }
            // Wakers are cloned and dropped outside the lock, because that may run any code.
            let waker = cx.waker().clone();
            let mut waiters = lock(&self.waiters);
            let before = register(&mut waiters, waker);
            let waits = self.readiness.wait();
            drop(waiters);
            drop(before);
            if waits {
                return Poll::Pending;
            }
        }
    }

    /// Tries until the operation would block. The caller is then the waiter, in place of an earlier
    /// caller.
    #[inline]
    pub(crate) fn poll<R>(
        &self,
        cx: &mut Context<'_>,
        mut attempt: impl FnMut() -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        ready!(self.turn.poll_proceed(cx));
        self.poll_by(cx, &mut attempt, &fell_short, |waiters, waker| {
            waiters.caller.replace(waker)
        })
    }

    pub(crate) fn waiter(&self) -> FdWaiter<'_> {
        FdWaiter {
            direction: self,
            key: None,
            turn: Turn::new(),
        }
    }
}

impl FdWaiter<'_> {
    /// Tries until the operation would block, and then waits in this place.
    pub(crate) fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        attempt: &mut impl FnMut() -> io::Result<R>,
        fell_short: &impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        ready!(self.turn.poll_proceed(cx));
        let key = &mut self.key;
        (self.direction).poll_by(cx, attempt, fell_short, |waiters, waker| {
            let futures = &mut waiters.futures;
            let key = *key.get_or_insert_with(|| futures.insert(None));
            futures[key].replace(waker)
        })
    }
}

impl Drop for FdWaiter<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = lock(&self.direction.waiters).futures.remove(key);
            drop(waker);
        }
    }
}

#[cold]
pub(super) fn gone() -> io::Error {
    io::Error::other(
        "the executor that watched this descriptor is gone; keep the executor alive as long as its \
         descriptors are in use",
    )
}
