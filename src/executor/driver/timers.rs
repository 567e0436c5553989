//! [`Timers`]: a queue of deadlines, with who waits for each. One worker's, or that of all threads that are no workers.
//!
//! The queue is under a lock, which is its owner's alone as a rule, and which nobody holds for
//! longer than it takes to fire a batch. No code of a user runs under it: wakers are cloned before
//! it is taken, and dropped and woken after it is given up, because each may panic, or arm and drop
//! other timers here.
//!
//! | operation | cost | what is done outside of the lock |
//! |---|---|---|
//! | insert | O(log n) | the caller has cloned the waker |
//! | poll, fired or with the waker that is registered | O(1) | |
//! | poll, another waker | O(1), locks twice | the clone before the second time, the drop of the old one after it |
//! | remove | O(1); O(log n) where the next look for the earliest, or at what comes in a round, finds it | the caller drops the waker |
//! | fire | O(log n) for each; one load when nothing is due | the caller wakes |
//!
//! Beside the lock stands the earliest deadline, written under it, for those who have to know for
//! how long they may sleep. It is a hint: what it says may have changed. [`Timers::earliest`] says
//! what can be built on it.

mod queue;

use alloc::vec::Vec;
use core::{iter, mem, task::Waker};
use std::sync::PoisonError;

use crossbeam_utils::CachePadded;

use self::queue::Queue;
use super::clock::NEVER;
use crate::sync::{AtomicU64, Mutex, MutexGuard, order};

/// How many fire before the lock is given up.
const BATCH: usize = 64;

/// Which of the timers: a place that stays taken until [`Timers::remove`], or until
/// [`Timers::poll`] has said that it fired.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key(u32);

/// The executor has gone, and nobody will ever fire a timer here: arm it elsewhere. Keys mean
/// nothing any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

pub(crate) struct Timers {
    /// What [`Queue::earliest`] said last. Read by others than the owner, and so apart from what
    /// the owner writes.
    earliest: CachePadded<AtomicU64>,
    /// None: closed.
    queue: Mutex<Option<Queue<Waker>>>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            earliest: CachePadded::new(AtomicU64::new(NEVER)),
            queue: Mutex::new(Some(Queue::new())),
        }
    }

    /// The earliest deadline, or `NEVER`, or the deadline of one that was given up and would have
    /// been earlier. One load; it may be out of date.
    ///
    /// It is relaxed on both sides. So whoever comes after a change, by whatever edge, sees that
    /// change or a later one; and it makes no edge itself. Where one thread
    /// [inserts](Timers::insert) and another goes to sleep, `Handle::hurry` makes it.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        // ORDERING: earliest. Relaxed: what stands in the queue is read under the lock; who must
        // not miss a change has an edge of its own.
        self.earliest.load(order!(earliest: Relaxed))
    }

    /// As [`earliest`](Timers::earliest), but not one that was given up before this.
    pub(crate) fn settle(&self) -> u64 {
        let mut queue = self.lock();
        let Some(queue) = queue.as_mut() else {
            return NEVER;
        };
        queue.settle();
        self.publish(queue);
        queue.earliest()
    }

    /// Arms a new timer, for a deadline that is not `NEVER`. True: its deadline is the earliest
    /// here now, and the driver is to be told (`Handle::hurry`).
    ///
    /// # Errors
    /// The waker, when this is [`Closed`].
    pub(crate) fn insert(&self, deadline: u64, waker: Waker) -> Result<(Key, bool), Waker> {
        debug_assert!(deadline != NEVER, "a timer that never fires is not armed");
        let mut queue = self.lock();
        let Some(queue) = queue.as_mut() else {
            return Err(waker);
        };
        let place = queue.insert(deadline, waker);
        Ok((Key(place), self.publish(queue)))
    }

    /// Whether it has fired, and then the place is given back; if not, `waker` is the one to be
    /// woken.
    pub(crate) fn poll(&self, key: &Key, waker: &Waker) -> Result<bool, Closed> {
        let mut guard = self.lock();
        let queue = guard.as_mut().ok_or(Closed)?;
        let Some(registered) = queue.armed(key.0) else {
            drop(self.give_back(guard, key));
            return Ok(true);
        };
        if registered.will_wake(waker) {
            return Ok(false);
        }
        drop(guard);
        self.register(key, waker.clone())
    }

    /// As [`poll`](Timers::poll), with a waker that is another one than before.
    #[cold]
    fn register(&self, key: &Key, mut waker: Waker) -> Result<bool, Closed> {
        // The waker, a parameter, is dropped after the lock, a local, on each way out.
        let mut guard = self.lock();
        let queue = guard.as_mut().ok_or(Closed)?;
        let Some(registered) = queue.armed(key.0) else {
            drop(self.give_back(guard, key));
            return Ok(true);
        };
        mem::swap(registered, &mut waker);
        Ok(false)
    }

    /// Gives the place back. If it had not fired, it never will, and here is its waker.
    pub(crate) fn remove(&self, key: &Key) -> Option<Waker> {
        self.give_back(self.lock(), key)
    }

    fn give_back(&self, mut guard: Guard<'_>, key: &Key) -> Option<Waker> {
        let queue = guard.as_mut()?;
        let (waker, spare) = queue.release(key.0);
        self.publish(queue);
        drop(guard);
        drop(spare);
        waker
    }

    /// Takes the wakers of those whose deadline is not after `now`, earliest first and those of one
    /// deadline in the order in which they came, as many as there is room for in a batch. True:
    /// there are more.
    pub(crate) fn fire(&self, now: u64, woken: &mut Vec<Waker>) -> bool {
        if self.earliest() > now {
            return false;
        }
        woken.reserve(BATCH);
        let mut queue = self.lock();
        let Some(queue) = queue.as_mut() else {
            return false;
        };
        woken.extend(iter::from_fn(|| queue.pop(now)).take(BATCH));
        self.publish(queue);
        queue.earliest() <= now
    }

    /// No timer will fire here any more. Takes all wakers, in no order.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let queue = {
            let mut queue = self.lock();
            self.say(NEVER);
            queue.take()
        };
        queue.map_or_else(Vec::new, Queue::into_values)
    }

    /// To be called after each change, under the lock. True: the earliest deadline is earlier than
    /// before.
    fn publish(&self, queue: &Queue<Waker>) -> bool {
        let (before, now) = (self.earliest(), queue.earliest());
        if now != before {
            self.say(now);
        }
        now < before
    }

    fn say(&self, earliest: u64) {
        // ORDERING: publish. Relaxed: as for `earliest`. The lock is held, so that no two store at
        // once.
        self.earliest.store(earliest, order!(publish: Relaxed));
    }

    fn lock(&self) -> Guard<'_> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Guard<'a> = MutexGuard<'a, Option<Queue<Waker>>>;

#[cfg(test)]
mod tests;
