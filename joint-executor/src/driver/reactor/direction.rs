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

use super::readiness::{Readiness, Seen, ShortCount};
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

/// The key of a future's place in the list, once it has one.
type Place = Option<usize>;

/// One future's place in the list. Dropping it removes the place.
pub(crate) struct FdWaiter<'a> {
    direction: &'a Direction,
    place: Place,
    turn: Turn,
}

impl Direction {
    /// Makes a direction, which is registered or not.
    pub(super) fn new(short: ShortCount, is_asked: bool) -> Self {
        Self {
            readiness: match is_asked {
                true => Readiness::new(short),
                false => Readiness::unasked(),
            },
            waiters: Mutex::default(),
            turn: SharedTurn::default(),
        }
    }

    /// Raises an event, as [`Source::event`](super::Source::event) does.
    pub(crate) fn event(&self, short: ShortCount, woken: &mut Vec<Waker>) {
        self.take_wakers(self.readiness.event(short), woken);
    }

    /// Ends the direction, as [`Source::end`](super::Source::end) does.
    pub(super) fn end(&self, woken: &mut Vec<Waker>) {
        self.take_wakers(self.readiness.end(), woken);
    }

    fn take_wakers(&self, are_due: bool, woken: &mut Vec<Waker>) {
        if are_due {
            let mut waiters = lock(&self.waiters);
            woken.extend(waiters.caller.take());
            for (_, waker) in &mut waiters.futures {
                woken.extend(waker.take());
            }
        }
    }

    /// Calls `f` with the waker of each waiter, under the lock.
    #[cfg(feature = "dump")]
    pub(super) fn each_waker(&self, f: impl FnMut(&Waker)) {
        let Waiters { caller, futures } = &*lock(&self.waiters);
        let futures = futures.iter().filter_map(|(_, waker)| waker.as_ref());
        caller.iter().chain(futures).for_each(f);
    }

    /// Returns the look after which an operation is worth trying, or registers the caller for the
    /// next event and returns pending: in the place of a future, or else in that of the last
    /// caller.
    #[inline]
    fn next(&self, cx: &mut Context<'_>, mut place: Option<&mut Place>) -> Poll<Seen> {
        loop {
            let seen = self.readiness.look();
            if seen.is_ready() || seen.is_gone() {
                return Poll::Ready(seen);
            }
            if self.wait(cx, place.as_deref_mut()) {
                return Poll::Pending;
            }
        }
    }

    /// Puts the task's waker among the waiters. Returns false if an event has arrived meanwhile.
    #[inline(never)]
    fn wait(&self, cx: &mut Context<'_>, place: Option<&mut Place>) -> bool {
        // Wakers are cloned and dropped outside the lock, because that may run any code.
        let waker = cx.waker().clone();
        let mut waiters = lock(&self.waiters);
        let before = match place {
            None => waiters.caller.replace(waker),
            Some(place) => {
                let futures = &mut waiters.futures;
                let key = *place.get_or_insert_with(|| futures.insert(None));
                futures[key].replace(waker)
            }
        };
        let waits = self.readiness.wait();
        drop(waiters);
        drop(before);
        waits
    }

    /// Returns the error of an operation that was tried after that look, or `None` if it is to be
    /// tried again.
    #[inline(never)]
    fn failed(&self, seen: Seen, error: io::Error) -> Option<io::Error> {
        match error.kind() {
            io::ErrorKind::WouldBlock if seen.is_gone() => Some(seen.gone()),
            io::ErrorKind::WouldBlock => {
                self.readiness.clear(seen);
                None
            }
            io::ErrorKind::Interrupted => None,
            _ => Some(error),
        }
    }

    /// Tries until the operation is done, or until it would block and no event has arrived since
    /// the look at the word. `fell_short` returns whether a result shows that there is no more at
    /// the moment.
    #[inline]
    fn poll_in<R>(
        &self,
        cx: &mut Context<'_>,
        mut place: Option<&mut Place>,
        attempt: &mut impl FnMut() -> io::Result<R>,
        fell_short: &impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        loop {
            let seen = ready!(self.next(cx, place.as_deref_mut()));
            match attempt() {
                Ok(result) => {
                    if fell_short(&result) {
                        self.readiness.fell_short(seen);
                    }
                    return Poll::Ready(Ok(result));
                }
                Err(error) => {
                    if let Some(error) = self.failed(seen, error) {
                        return Poll::Ready(Err(error));
                    }
                }
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
        self.poll_in(cx, None, &mut attempt, &fell_short)
    }

    /// Waits as [`poll`](Direction::poll) does, for an operation that is tried elsewhere.
    pub(super) fn poll_served(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.turn.poll_proceed(cx));
        self.next(cx, None).map(Seen::served)
    }

    pub(crate) fn waiter(&self) -> FdWaiter<'_> {
        FdWaiter {
            direction: self,
            place: None,
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
        (self.direction).poll_in(cx, Some(&mut self.place), attempt, fell_short)
    }

    /// Waits in this place for an operation that is tried elsewhere.
    pub(super) fn poll_served(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.turn.poll_proceed(cx));
        (self.direction.next(cx, Some(&mut self.place))).map(Seen::served)
    }
}

impl Drop for FdWaiter<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.place {
            let waker = lock(&self.direction.waiters).futures.remove(key);
            drop(waker);
        }
    }
}
