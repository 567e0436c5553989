//! The work of a worker while a poll blocks its thread in a wait of this crate: [`block_on`], a
//! blocking receive, a [`LocalExecutor`]'s `block_on`, the wait for a stolen side of a join.
//!
//! It runs no task. It attends to the driver, so that timers fire and descriptors are watched even
//! if every worker is blocked. Once the executor is closed, it also drops tasks, as the other
//! workers do (`closing.rs`). [`park_until`](joint::park::park_until) has the rule by which
//! it goes to sleep in between.
//!
//! # Deadlocks
//! A `block_on` without a limit is ended by a clone of its waker. If each clone is registered as
//! the waiter of a task that only this worker can run, the wait never ends: such a task cannot end,
//! even by a cancellation, before this worker runs it. The worker then panics. It looks for that
//! once a second, because it looks at all of these tasks. The first look is that late, too, because
//! the wait also ends if the executor is closed soon.
//!
//! The clones are counted before and after the tasks are looked at, because other threads may make
//! and drop some meanwhile. One that was dropped before has either woken the thread, which is seen,
//! or will never do so.
//!
//! If all workers are blocked so, no walk tells whether one of them goes on by what happens
//! outside. The first that finds this, with tasks queued, writes a report to standard error.
//!
//! [`block_on`]: crate::block_on
//! [`LocalExecutor`]: crate::LocalExecutor

use alloc::{borrow::ToOwned, format, vec::Vec};
use core::{iter, ptr::NonNull, time::Duration};
use std::{
    io::{Write, stderr},
    time::Instant,
};

use super::{
    current,
    parts::Worker,
    queues::After,
    shared::{Runnable, Shared},
    state::{Core, Running},
};
use crate::{
    metrics::Counters,
    policy::{STANDSTILL, STUCK, TURN},
};
use joint::{
    park::Parker,
    task::{self, TaskView},
};

/// Attends to the duties of this thread's worker. Called whenever the thread is blocked.
pub(super) fn attend_while_blocked(parker: Option<&Parker>) -> Option<Duration> {
    current::with_thread_worker(|worker| {
        worker.and_then(|(worker, running)| worker.attend_blocked(running, parker))
    })
}

impl Worker {
    /// Attends to the driver, and in a closed executor drops tasks. Returns how long the thread may
    /// sleep before the next call, as [`Attend`](joint::host::Attend) does.
    fn attend_blocked(&self, running: &Running<'_>, parker: Option<&Parker>) -> Option<Duration> {
        // The child of a fork has a copy of the timers and shares the reactor: both are its
        // parent's.
        if !self.shared().process.is_current() {
            return None;
        }
        let mut next = None;
        // Nothing that is set for the task below applies to the code that runs here. This code
        // belongs to this executor, whatever the task belongs to.
        self.apart(|| next = self.attend_apart(running));
        let Some(parker) = parker else {
            return next;
        };
        let check = self.check_blocked(parker, Instant::now());
        Some(next.map_or(check, |next| check.min(next)))
    }

    fn attend_apart(&self, running: &Running<'_>) -> Option<Duration> {
        let shared = &**self.shared();
        if shared.is_closed() {
            self.closing.discard_blocked(running);
        }
        self.attendant.attend(running, After::Anything);
        let look = shared.driver.next_blocked_look();
        match shared.is_closed() {
            // A push to a closed executor does not unpark a blocked worker.
            true => Some(look.map_or(STUCK, |look| look.min(STUCK))),
            false => look,
        }
    }

    /// Panics if the wait of this parker is a deadlock, and reports if no worker is left to run
    /// what is queued. Returns when to check again.
    fn check_blocked(&self, parker: &Parker, now: Instant) -> Duration {
        let runs = self.queues.runs();
        let check = (self.next_blocked_check.get()).filter(|&(before, _)| before == runs);
        let mut next = check.map_or(now + STANDSTILL, |(_, next)| next);
        if next <= now {
            let shared = self.shared();
            assert!(
                shared.is_closed() || !is_deadlock(self, parker),
                "deadlock: this `block_on` waits for a task that only this worker can run; \
                 `await` the task instead, or pass the code that blocks to `spawn_blocking`, \
                 or build the executor with more workers"
            );
            if is_starved(self) {
                shared
                    .starved
                    .call_once(|| report_starved(shared.workers()));
            }
            next = now + STANDSTILL;
        }
        self.next_blocked_check.set(Some((runs, next)));
        next - now
    }
}

/// Whether tasks are queued, and each worker has found itself blocked since any of them began a
/// poll. One that goes on with its poll after its wait is not told apart.
fn is_starved(worker: &Core) -> bool {
    let all = &worker.shared().counters;
    // One more, so that it is never that of a worker that has not been blocked.
    let mut polls = 1;
    for worker in all {
        polls += worker.polls.get();
    }
    worker.counters().blocked_at.set(polls);
    let has_found = |worker: &Counters| worker.blocked_at.get() == polls;
    all.iter().all(|worker| has_found(worker)) && worker.shared().has_queued()
}

fn report_starved(workers: usize) {
    let blocks = |task: TaskView<'_>| match task.name() {
        Some(name) => format!("the task `{name}` spawned at {}", task.spawned()),
        None => format!("the task spawned at {}", task.spawned()),
    };
    let blocker = task::with_current(blocks).unwrap_or_else(|| "a future".to_owned());
    // There is nowhere else to report to.
    let _ = writeln!(
        stderr(),
        "joint: tasks are queued, but all workers ({workers}) have been blocked for a second, \
         one of them by {blocker}. If the waits are for such tasks, they never end: `await` \
         them instead, or pass the code that blocks to `spawn_blocking`, or build the executor \
         with more workers"
    );
}

/// Whether every clone of the parker's waker is that of the waiter of a task that only this worker
/// can run.
fn is_deadlock(worker: &Core, parker: &Parker) -> bool {
    let (shared, queues): (&Shared, _) = (worker.shared(), &worker.queues);
    let clones = parker.clones();
    let is_awaited = |task: NonNull<()>| {
        // SAFETY: the registry, or the task's runnable, keeps its memory during this call.
        let waiter = unsafe { Runnable::raw_view(task) }.waiter();
        waiter == Some(parker.waker().data().addr())
    };
    let mut found = 0;
    (shared.registry).each_task_of(worker.index(), |task| {
        found += usize::from(is_awaited(task))
    });
    // A task that has never waited is in a queue, and not in the registry.
    let is_alone = shared.workers() == 1;
    let next = || match is_alone {
        true => queues.next_queued(),
        false => queues.next_pinned(),
    };
    let mut queued = Vec::new();
    queued.extend(iter::from_fn(next));
    queued.extend(is_alone.then(|| queues.take_injected(TURN)).flatten());
    queued.extend(iter::from_fn(next));
    for runnable in queued {
        let is_new = !runnable.metadata().is_entered();
        found += usize::from(is_new && is_awaited(runnable.as_ptr()));
        queues.give_back(runnable);
    }
    found > 0 && [clones, parker.clones()] == [found; 2] && !parker.is_woken()
}

#[cfg(test)]
mod tests;
