//! [`Turns`]: an operation that belongs to its socket, and the futures that take turns with it.
//!
//! What the kernel gives for a read of a socket, or for an accept, exists once. A future that is
//! dropped therefore leaves its operation to the socket, and the next future takes it over. There
//! is one such operation for each socket, so that the kernel never gives to one that nobody polls
//! what a future waits for at another one.
//!
//! No code of strangers runs under the lock: wakers are cloned, woken and dropped outside.

use core::{
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What a turn leaves to the next one.
pub(crate) trait Keep {
    /// Prepares it for a time in which nobody polls it. Returns false if nothing is to be kept.
    fn rest(&mut self) -> bool;
}

pub(crate) struct Turns<K>(Mutex<State<K>>);

struct State<K> {
    is_taken: bool,
    /// What the last turn has left.
    kept: Option<K>,
    /// The futures that wait for a turn, by their numbers. One that was woken has no waker here.
    waiters: VecDeque<(usize, Option<Waker>)>,
    numbers: usize,
}

/// The turn of a future. Dropping it leaves what is kept to the next one.
pub(crate) struct Turn<'a, K: Keep> {
    turns: &'a Turns<K>,
    pub(crate) kept: Option<K>,
}

/// A future that waits for its turn.
pub(crate) struct Waiter<'a, K> {
    turns: &'a Turns<K>,
    number: Option<usize>,
}

impl<K> Turns<K> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State {
            is_taken: false,
            kept: None,
            waiters: VecDeque::new(),
            numbers: 0,
        }))
    }

    pub(crate) fn turn(&self) -> Waiter<'_, K> {
        Waiter {
            turns: self,
            number: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> State<K> {
    fn position(&self, number: usize) -> Option<usize> {
        self.waiters.iter().position(|waiter| waiter.0 == number)
    }

    /// Returns the waker of the first waiter if it is free to take its turn.
    fn next(&mut self) -> Option<Waker> {
        match self.is_taken {
            true => None,
            false => self.waiters.front_mut()?.1.take(),
        }
    }
}

impl<'a, K: Keep> Waiter<'a, K> {
    fn take(&mut self, state: &mut State<K>) -> Option<Turn<'a, K>> {
        if mem::replace(&mut state.is_taken, true) {
            return None;
        }
        let place = self.number.take().and_then(|number| state.position(number));
        place.map(|place| state.waiters.remove(place));
        Some(Turn {
            turns: self.turns,
            kept: state.kept.take(),
        })
    }
}

impl<'a, K: Keep> Future for Waiter<'a, K> {
    type Output = Turn<'a, K>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Turn<'a, K>> {
        let turns = self.turns;
        if let Some(turn) = self.take(&mut turns.lock()) {
            return Poll::Ready(turn);
        }
        let waker = Some(cx.waker().clone());
        let mut state = turns.lock();
        if let Some(turn) = self.take(&mut state) {
            return Poll::Ready(turn);
        }
        let number = *self.number.get_or_insert_with(|| {
            state.numbers += 1;
            state.numbers
        });
        let before = match state.position(number) {
            Some(place) => mem::replace(&mut state.waiters[place].1, waker),
            None => {
                state.waiters.push_back((number, waker));
                None
            }
        };
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<K> Drop for Waiter<'_, K> {
    fn drop(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        let mut state = self.turns.lock();
        let place = state.position(number);
        let removed = place.and_then(|place| state.waiters.remove(place));
        // It may have been the one that was woken.
        let next = state.next();
        drop(state);
        drop(removed);
        next.into_iter().for_each(Waker::wake);
    }
}

impl<K: Keep> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        let kept = self.kept.take_if(K::rest);
        let mut state = self.turns.lock();
        state.is_taken = false;
        state.kept = kept;
        let next = state.next();
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

impl<K> fmt::Debug for Turns<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").finish_non_exhaustive()
    }
}
