//! [`Timers`]: a queue of deadlines, each with the waker that waits for it. One worker's, or that
//! of all threads that are not workers.
//!
//! The queue is under a lock. Usually only its owner takes the lock. It is held to fire a batch at
//! most, to sort, or to remove entries of timers that were given up. No code of a user runs under
//! it. Wakers are cloned before the lock is taken, and dropped and woken after it is released,
//! because each of these may panic, or may arm and drop other timers here.
//!
//! | operation | cost for n timers | what is done outside the lock |
//! |---|---|---|
//! | insert | O(log n), and O(1) while nothing has been sorted | the caller has cloned the waker |
//! | poll, if fired or with the registered waker | O(1) | |
//! | poll, with another waker | O(1), locks twice | the clone before the second lock, the drop of the old waker after it |
//! | remove | O(1) on average, and O(n) at times | the caller drops the waker |
//! | fire | one load if nothing is due; O(log n) on average for each, given up or not, and O(n) at times | the caller wakes |
//! | settle | O(1), and as to fire for each that was given up | |
//!
//! Beside the lock is the earliest deadline, for threads that must know how long they may sleep. It
//! is written under the lock. It is a hint, because the queue may have changed since, and because
//! it may be that of a timer that was given up. It is then too early, never too late, and a thread
//! that is about to sleep calls [`Timers::settle`] first. [`Timers::earliest`] says what a caller
//! can rely on.

mod queue;
mod quickheap;

use alloc::vec::Vec;
use core::{
    iter, mem,
    task::{Poll, Waker},
};

use self::queue::Queue;
use super::clock::NEVER;
use crate::{guard::lock, padded::CachePadded, policy::TURN};
use joint_switch::{AtomicU64, Mutex, MutexGuard, order};

/// The place of one timer. It stays taken until [`Timers::remove`], or until [`Timers::poll`] has
/// reported that the timer fired.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key(u32);

/// The executor has ended, and no timer will ever fire here. The caller must arm the timer
/// elsewhere. Keys have no meaning any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// The effect of a change on the earliest deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earliest {
    /// The earliest deadline is unchanged, or later.
    NotSooner,
    Sooner,
}

/// Which of the timers that are due a call has fired.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    All,
    /// One full batch has fired, and more timers are due.
    OneBatch,
}

pub(crate) struct Timers {
    /// The latest value of [`Queue::earliest`]. Threads other than the owner read it, so it is kept
    /// apart from what the owner writes.
    earliest: CachePadded<AtomicU64>,
    /// The queue, or `None` once closed.
    queue: Mutex<Option<Queue<Waker>>>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            earliest: CachePadded::new(AtomicU64::new(NEVER)),
            queue: Mutex::new(Some(Queue::new())),
        }
    }

    /// Returns a time before which nothing is due, or `NEVER`. One load. It may be out of date.
    ///
    /// Both the load and the store are relaxed. A thread that comes after a change, by any edge,
    /// sees that change or a later one, but the load itself makes no edge. If one thread
    /// [inserts](Timers::insert) and another goes to sleep, `DriverHandle::hurry` makes the edge.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        // ORDERING: earliest. Relaxed: the queue itself is read under the lock, and a thread that
        // must not miss a change has an edge of its own.
        self.earliest.load(order!(earliest: Relaxed))
    }

    /// Arms a new timer, for a deadline that is not `NEVER`. If the earliest deadline is
    /// [`Sooner`](Earliest::Sooner), the caller must tell the driver (`DriverHandle::hurry`).
    ///
    /// # Errors
    /// Returns the waker if this is [`Closed`].
    pub(crate) fn insert(&self, deadline: u64, waker: Waker) -> Result<(Key, Earliest), Waker> {
        debug_assert!(
            deadline != NEVER,
            "`NEVER` is not a deadline that can be armed"
        );
        let mut queue = lock(&self.queue);
        let Some(queue) = queue.as_mut() else {
            return Err(waker);
        };
        let place = queue.insert(deadline, waker);
        Ok((Key(place), self.publish(queue)))
    }

    /// Returns `Ready` if the timer has fired. Its place is free again then. Otherwise `waker` is
    /// the waker that will be woken.
    pub(crate) fn poll(&self, key: &Key, waker: &Waker) -> Result<Poll<()>, Closed> {
        // Cloned and dropped without the lock.
        let mut new = None;
        loop {
            let mut guard = lock(&self.queue);
            let queue = guard.as_mut().ok_or(Closed)?;
            let Some(registered) = queue.armed(key.0) else {
                drop(self.give_back(guard, key));
                return Ok(Poll::Ready(()));
            };
            if let Some(new) = &mut new {
                mem::swap(registered, new);
                return Ok(Poll::Pending);
            }
            if registered.will_wake(waker) {
                return Ok(Poll::Pending);
            }
            drop(guard);
            new = Some(waker.clone());
        }
    }

    /// Frees the timer's place. If the timer had not fired, it never will, and its waker is
    /// returned.
    pub(crate) fn remove(&self, key: &Key) -> Option<Waker> {
        self.give_back(lock(&self.queue), key)
    }

    fn give_back(&self, mut guard: Guard<'_>, key: &Key) -> Option<Waker> {
        let queue = guard.as_mut()?;
        let (waker, memory) = queue.release(key.0);
        self.publish(queue);
        drop(guard);
        drop(memory);
        waker
    }

    /// Takes the wakers of up to one batch of timers whose deadline is not after `now`: the
    /// earliest first, and equal deadlines in the order of insertion.
    pub(crate) fn fire(&self, now: u64, woken: &mut Vec<Waker>) -> Fired {
        if self.earliest() > now {
            return Fired::All;
        }
        woken.reserve(TURN as usize);
        let mut queue = lock(&self.queue);
        let Some(queue) = queue.as_mut() else {
            return Fired::All;
        };
        for waker in iter::from_fn(|| queue.pop(now)).take(TURN as usize) {
            woken.push(waker);
        }
        self.publish(queue);
        match queue.earliest() <= now {
            true => Fired::OneBatch,
            false => Fired::All,
        }
    }

    /// Calls `f` with the deadline and the waker of each armed timer, under the lock.
    #[cfg(feature = "dump")]
    pub(crate) fn each(&self, f: impl FnMut(u64, &Waker)) {
        if let Some(queue) = &*lock(&self.queue) {
            queue.each(f);
        }
    }

    /// Returns the earliest deadline of the timers that were not given up, or `NEVER`. Until the
    /// next [removal](Timers::remove), [`earliest`](Timers::earliest) returns the same.
    pub(crate) fn settle(&self) -> u64 {
        let mut queue = lock(&self.queue);
        let Some(queue) = queue.as_mut() else {
            return NEVER;
        };
        queue.settle();
        self.publish(queue);
        queue.earliest()
    }

    /// Closes the timers, so that none fires here any more. Returns all wakers, in no particular
    /// order.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let queue = {
            let mut queue = lock(&self.queue);
            self.say(NEVER);
            queue.take()
        };
        queue.map_or_else(Vec::new, Queue::into_values)
    }

    /// Publishes the earliest deadline. It must be called after each change, under the lock.
    fn publish(&self, queue: &Queue<Waker>) -> Earliest {
        let (before, now) = (self.earliest(), queue.earliest());
        if now != before {
            self.say(now);
        }
        match now < before {
            true => Earliest::Sooner,
            false => Earliest::NotSooner,
        }
    }

    fn say(&self, earliest: u64) {
        // ORDERING: publish. Relaxed: as for `earliest`. The lock is held, so no two threads store
        // at once.
        self.earliest.store(earliest, order!(publish: Relaxed));
    }
}

type Guard<'a> = MutexGuard<'a, Option<Queue<Waker>>>;

#[cfg(test)]
mod tests;
