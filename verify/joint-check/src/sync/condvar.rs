//! A condition variable.

use core::{sync::atomic::Ordering, time::Duration};
use std::sync::LockResult;

use super::{
    MutexGuard,
    atomic::{NONE, Word},
};
use crate::{graph::Op, run};

/// A condition variable without spurious wake-ups, whose waiters are woken in the order in which
/// they began to wait.
#[derive(Debug)]
pub struct Condvar {
    /// The waiting threads, a byte for each: its number + 1. The lowest byte has waited longest.
    queue: Word,
}

/// Whether a wait ended because its time had passed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns whether the time had passed.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// The queue with a thread at its end.
fn with(queue: u64, [thread, _]: [u64; 2]) -> Option<u64> {
    let length = 8 - queue.leading_zeros() / 8;
    Some(queue | thread << (8 * length))
}

/// The queue without a thread.
fn without(queue: u64, [thread, _]: [u64; 2]) -> Option<u64> {
    let others = queue.to_le_bytes().into_iter();
    let others = others.filter(|&other| other != 0 && u64::from(other) != thread);
    Some(others.rev().fold(0, |all, one| all << 8 | u64::from(one)))
}

fn holds(queue: u64, thread: u64) -> bool {
    let mut all = queue.to_le_bytes().into_iter();
    all.any(|other| u64::from(other) == thread)
}

impl Condvar {
    /// Creates a condition variable.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            queue: Word::new("Condvar", 0),
        }
    }

    /// Gives the lock up, waits for a notification, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let token = self.enlist();
        guard.mutex().unlock();
        notified(token);
        guard.mutex().relock();
        Ok(guard)
    }

    /// Waits while the condition holds.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Does the same as [`wait`](Self::wait), or gives up. Both are tried at each point, so the
    /// duration has no effect.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let token = self.enlist();
        guard.mutex().unlock();
        // A loop of such waits begins its next iteration here, where it does not hold the lock.
        crate::thread::yield_now();
        let me = u64::from(run::current()) + 1;
        let queue = self
            .queue
            .update("time out", me, Ordering::Relaxed, without);
        let gave_up = holds(queue, me);
        if !gave_up {
            notified(token);
        }
        guard.mutex().relock();
        Ok((guard, WaitTimeoutResult(gave_up)))
    }

    /// Joins the queue. Returns the word of this thread that its notification will change.
    #[track_caller]
    fn enlist(&self) -> Word {
        let token = run::wake_token();
        let me = u64::from(run::current()) + 1;
        self.queue.update("wait", me, Ordering::Relaxed, with);
        token
    }

    /// Wakes the thread that has waited longest.
    #[track_caller]
    pub fn notify_one(&self) {
        let first_left = |queue: u64, _| Some(queue >> 8);
        let queue = self
            .queue
            .update("notify_one", 0, Ordering::Relaxed, first_left);
        notify(queue & 0xff);
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        let queue = self
            .queue
            .update("notify_all", 0, Ordering::Relaxed, |_, _| Some(0));
        for thread in queue.to_le_bytes() {
            notify(thread.into());
        }
    }
}

#[track_caller]
fn notified(token: Word) {
    token.wait("wait for a notification", 0, |is_woken, _| {
        (is_woken == 1).then_some(0)
    });
}

#[track_caller]
fn notify(thread: u64) {
    if let Some(thread) = thread.checked_sub(1) {
        let token = run::wake_token_of(thread as u8);
        // An exchange, so that two notifications of one thread are in the order of its waits.
        token.access("notify", Op::swap(1), Ordering::Release, NONE);
    }
}

default! { Condvar () }
