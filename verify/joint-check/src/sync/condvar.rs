//! A condition variable.

use core::{sync::atomic::Ordering, time::Duration};
use std::sync::{LockResult, PoisonError};

use super::{
    MutexGuard,
    atomic::{NONE, OwnedWord, Word},
};
use crate::{
    graph::{Freely, Op, Others},
    run,
};

/// A condition variable, which may wake any of its waiters.
#[derive(Debug)]
pub struct Condvar {
    /// The waiting threads, a byte for each: its number + 1. The lowest byte has waited longest.
    queue: OwnedWord,
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
    Some(queue | thread << (8 * length(queue)))
}

/// The queue without a thread.
fn without(queue: u64, [thread, _]: [u64; 2]) -> Option<u64> {
    let others = queue.to_le_bytes().into_iter();
    let others = others.filter(|&other| other != 0 && u64::from(other) != thread);
    Some(others.rev().fold(0, |all, one| all << 8 | u64::from(one)))
}

/// The queue without the thread of this rank.
fn without_rank(queue: u64, [_, rank]: [u64; 2]) -> Option<u64> {
    without(queue, [rank_of(queue, rank), 0])
}

fn rank_of(queue: u64, rank: u64) -> u64 {
    queue >> (8 * rank) & 0xff
}

fn length(queue: u64) -> u8 {
    8 - (queue.leading_zeros() / 8) as u8
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
            queue: OwnedWord::new("Condvar", 0),
        }
    }

    /// Gives the lock up, waits for a notification, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let token = self.enlist();
        guard.mutex().unlock();
        if notified(token, Others::Spurious(Freely::Nothing)) {
            self.withdraw("withdraw", token);
        }
        guard.mutex().relock();
        guard.retaken()
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
        let gave_up = self.withdraw("time out", token);
        guard.mutex().relock();
        let ended = WaitTimeoutResult(gave_up);
        match guard.retaken() {
            Ok(guard) => Ok((guard, ended)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), ended))),
        }
    }

    /// Leaves the queue, or takes the notification that has come meanwhile. Returns whether none
    /// has.
    #[track_caller]
    fn withdraw(&self, name: &'static str, token: Word) -> bool {
        let me = u64::from(run::current()) + 1;
        let queue = self
            .queue
            .get()
            .update(name, me, Ordering::Relaxed, without);
        let is_there = holds(queue, me);
        if !is_there {
            notified(token, Others::None);
        }
        is_there
    }

    /// Joins the queue. Returns the word of this thread that its notification will change.
    #[track_caller]
    fn enlist(&self) -> Word {
        let token = run::wake_token();
        let me = u64::from(run::current()) + 1;
        self.queue.get().update("wait", me, Ordering::Relaxed, with);
        token
    }

    /// Wakes one of the threads that wait: each of them is tried, or only the one that has waited
    /// longest ([`Builder::in_order`](crate::model::Builder::in_order)).
    #[track_caller]
    pub fn notify_one(&self) {
        let op = Op::update(without_rank, [0; 2], false);
        let op = match run::limits().in_order {
            true => op,
            false => op.or(Others::Chosen(length)),
        };
        let queue = self.queue.get().answer("notify_one", op, NONE, NONE);
        notify(rank_of(queue.value, queue.outcome.into()));
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        let queue = self
            .queue
            .get()
            .update("notify_all", 0, Ordering::Relaxed, |_, _| Some(0));
        for thread in queue.to_le_bytes() {
            notify(thread.into());
        }
    }
}

/// Waits for a notification. Returns whether the wait ended for no reason.
#[track_caller]
fn notified(token: Word, others: Others) -> bool {
    let is_woken = |is_woken, _: [u64; 2]| (is_woken == 1).then_some(0);
    let answer = token.wait_or("wait for a notification", 0, is_woken, others);
    answer.outcome > 0
}

#[track_caller]
fn notify(thread: u64) {
    if let Some(thread) = thread.checked_sub(1) {
        let token = run::wake_token_of(thread as u8);
        // An exchange, so that two notifications of one thread are in the order of its waits.
        // Relaxed, because only the lock orders what a notification is about.
        token.access("notify", Op::swap(1), Ordering::Relaxed, NONE);
    }
}

joint_facade::made_by_new! { Condvar }
joint_facade::wait_while! { Condvar: MutexGuard, T: ?Sized }
