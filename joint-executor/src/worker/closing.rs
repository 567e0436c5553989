//! How an executor ends: what its workers do once it is closed.
//!
//! | phase | a worker |
//! |---|---|
//! | closed | finishes its poll; **arrives**; then drops what it would have run before |
//! | quiet, once all have arrived | drops what only it can drop, and leaves |
//! | terminated, by the last to leave | is gone. A thread is started to drop what is pushed (`gate.rs`) |
//!
//! A worker cannot arrive while a poll blocks it, and what that poll waits for may be held by a
//! task that no thread will ever wake or poll. Two things resolve that. The first worker that is
//! free cancels **every** waiting task, including those that the blocked worker has registered. And
//! workers that have arrived stay at work: they sleep, are woken by a push, and steal from the
//! queue of a worker that is stuck. A worker that is blocked in a wait of this crate does the same
//! inside that wait if no other worker has arrived for some time.
//!
//! One thing stays with a worker that is blocked elsewhere: the tasks that are pinned to it, which
//! no other thread may drop. A task that a drop spawns does not, because the other workers may have
//! left: its future is dropped at once.

use core::{cell::Cell, ptr};
use std::time::Instant;

use super::{
    shared::{Runnable, Shared},
    state::{Core, Running, Spawns},
};
use crate::{
    guard::Frames,
    policy::{ALONE, MOST_NESTED, STANDSTILL, TURN},
    registry::Lane,
};
use joint_switch::{now, thread_local, wait_until};

/// A task that this thread is about to queue, while a hook runs that may end the task's worker.
struct InHand {
    shared: *const Shared,
    lane: Lane,
    /// Whether the worker's end has passed it over.
    is_left: Cell<bool>,
}

thread_local! {
    static IN_HAND: Frames<InHand> = const { Frames::new() };
}

/// Calls `f` while this thread has a task in hand. Returns true if that ends the worker to which
/// the task is pinned, so that the caller must dispose of it on this thread.
pub(super) fn in_hand(shared: &Shared, lane: Lane, f: impl FnOnce()) -> bool {
    let is_left = Cell::new(false);
    let task = InHand {
        shared,
        lane,
        is_left,
    };
    IN_HAND.with(|in_hand| in_hand.during(&task, f));
    task.is_left.get()
}

/// Leaves the tasks pinned to this worker that callers further down this stack have in hand to
/// them, and returns their number.
fn leave_in_hand(worker: &Core) -> usize {
    let is_own = |task: &&InHand| {
        ptr::eq(task.shared, &raw const **worker.shared())
            && task.lane == Lane::Pinned(worker.index())
    };
    let leave = |task: &InHand| task.is_left.set(true);
    IN_HAND.with(|all| all.walk(|all| all.filter(is_own).map(leave).count()))
}

/// Ends the time of polls: drops what this worker has, and arrives.
pub(super) fn arrive(worker: &Running<'_>) {
    let shared = &**worker.shared();
    // Also if this worker has nothing to drop before it drops what others leave.
    worker.spawns.set(Spawns::Disposed);
    worker.announce_yield();
    cancel_waiting(worker);
    discard_own(worker);
    if shared.gate.arrive(worker.index()) {
        for waker in shared.sleep.wake_all() {
            worker.wake_stranger(Some(waker));
        }
    }
    worker.has_arrived.set(true);
}

/// Drops what only this worker can drop: what is queued here, and every task that is pinned to it.
/// Those that the worker's owner has taken are the owner's to drop, and one that a caller further
/// down the stack has in hand is that one's.
pub(super) fn discard_own(worker: &Running<'_>) {
    let (registry, index) = (&worker.shared().registry, worker.index());
    // A local future may be dropped on this thread only, so this waits for wake-ups of it that are
    // under way.
    wait_until(|| {
        cancel_pinned(worker);
        worker.discard_queued();
        registry.pinned(index) <= worker.lent.count() + leave_in_hand(worker)
    });
}

/// Cancels waiting tasks and queues them, so that any free worker can drop them, or this one inside
/// a drop that blocks. The first worker does this for the tasks of all workers.
fn cancel_waiting(worker: &Running<'_>) {
    let shared = &**worker.shared();
    // After that, a task that began to wait on this worker is found here, by the worker itself.
    let waiting = match shared.gate.begin_to_cancel() {
        true => shared.registry.cancel_all(),
        false => shared.registry.cancel_shard(worker.index()),
    };
    if !waiting.is_empty() {
        // The queue takes all.
        for one in waiting {
            worker.queues.push_beyond(one);
        }
        worker.notify();
    }
}

/// Cancels every waiting task that is pinned to this worker, and queues it.
fn cancel_pinned(worker: &Core) {
    for one in worker.shared().registry.cancel_pinned(worker.index()) {
        worker.queues.push_pinned(one);
    }
}

/// The work of a worker inside a poll, or a drop, that blocks it in a closed executor.
#[derive(Default)]
pub(super) struct Closing {
    /// The number of nested waits that are dropping tasks.
    inside: Cell<usize>,
    /// Since when a poll has been blocked, and when that was last seen.
    blocked: Cell<Option<(Instant, Instant)>>,
}

impl Closing {
    /// Drops what the poll, or the drop, that blocks this worker may be waiting for.
    #[cold]
    pub(super) fn discard_blocked(&self, worker: &Running<'_>) {
        self.discard_inside(worker, || self.is_left_alone(worker));
    }

    /// Drops what is queued or waits, or only what is pinned to this worker.
    pub(super) fn discard_inside(
        &self,
        worker: &Running<'_>,
        is_left_alone: impl FnOnce() -> bool,
    ) {
        let depth = self.inside.get();
        if depth == MOST_NESTED {
            return;
        }
        cancel_waiting(worker);
        cancel_pinned(worker);
        self.inside.set(depth + 1);
        let is_alone = is_left_alone();
        let next = || match is_alone {
            true => next_to_discard(worker),
            false => worker.queues.next_pinned(),
        };
        while let Some(runnable) = next() {
            worker.discard(runnable);
        }
        self.inside.set(depth);
    }

    /// Whether this blocked worker drops what any worker could drop.
    ///
    /// A future that is dropped inside a blocked poll may itself wait for that very poll, and then
    /// neither ends. As long as another worker's last poll is over, or may be over soon, such
    /// futures are therefore left to that worker for some time.
    fn is_left_alone(&self, worker: &Core) -> bool {
        let shared = &**worker.shared();
        if worker.has_arrived.get() || shared.workers() == 1 {
            return true;
        }
        let now = now();
        let seen = self.blocked.get();
        let since = match seen.filter(|&(_, last)| now - last < ALONE) {
            Some((since, _)) => since,
            None => now,
        };
        self.blocked.set(Some((since, now)));
        let mut others = (0..shared.workers()).filter(|&other| other != worker.index());
        let patience = match others.any(|other| shared.gate.has_arrived(other)) {
            true => STANDSTILL,
            false => ALONE,
        };
        now - since >= patience
    }
}

/// Takes a runnable that can be dropped on this thread: from the worker's own queues, from the
/// injector, or from the queue of another worker.
fn next_to_discard(worker: &Core) -> Option<Runnable> {
    let queues = &worker.queues;
    let own = queues.next_queued().or_else(|| queues.take_injected(TURN));
    own.or_else(|| {
        let stealers = worker.shared().stealers.iter().enumerate();
        let mut others = stealers.filter(|&(other, _)| other != worker.index());
        let stolen = others.find_map(|(_, stealer)| queues.deques.steal_and_pop(stealer, 1));
        stolen.map(|(runnable, _)| runnable)
    })
}

#[cfg(test)]
mod tests;
