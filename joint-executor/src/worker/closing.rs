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

use alloc::{borrow::ToOwned, vec::Vec};
use core::{cell::Cell, ptr};
use std::time::Instant;

use super::{
    Running, Worker, current, dispose,
    shared::{FAMILY, Runnable, Shared},
};
use crate::{
    gate,
    guard::Frames,
    policy::{ALONE, ALONE_BESIDE_ARRIVED, MOST_INSIDE},
    registry::{Lane, Registry},
};
use joint::waker;
use joint_switch::{now, thread, thread_local, wait_until};

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

/// A worker's knowledge of the end, once its executor is closed.
#[derive(Default)]
pub(super) struct Closing {
    /// Whether it has dropped a future in the closed executor.
    has_begun: Cell<bool>,
    /// Whether the last poll is over for the other workers too.
    has_arrived: Cell<bool>,
    /// The number of nested waits that are dropping tasks.
    inside: Cell<usize>,
    /// Since when a poll has been blocked in the closed executor, and when that was last seen.
    blocked: Cell<Option<(Instant, Instant)>>,
}

impl Running<'_> {
    /// Runs from the end of the last poll to the end of the worker.
    pub(super) fn close_down(mut self) {
        self.arrive();
        while !self.shared().gate.is_quiet() {
            match self.next() {
                Some(runnable) => self.run_or_discard(runnable),
                None => self = self.look_out(),
            }
        }
        self.shared().leave(&self);
    }

    /// Ends the time of polls: drops what this worker has, and arrives.
    pub(super) fn arrive(&self) {
        let shared = &**self.shared();
        self.announce_yield();
        self.cancel_waiting();
        self.discard_own();
        shared.arrive(self.index());
        self.closing.has_arrived.set(true);
    }

    /// Ends the executor for this worker, which does not wait for the others. Closes it first if
    /// it is open.
    pub(super) fn leave_at_once(&self) {
        let shared = &**self.shared();
        shared.close();
        self.arrive();
        shared.leave(self);
    }

    /// Runs a runnable that was found elsewhere, or drops it if the executor is closed.
    pub(super) fn run_or_discard(&self, runnable: Runnable) {
        match self.shared().is_closed() {
            false => self.run(runnable),
            true => self.discard_inside(runnable),
        }
    }

    /// Drops a runnable inside this worker's other work.
    pub(crate) fn discard_inside(&self, runnable: Runnable) {
        if self.shared().is_closed() {
            self.closing.has_begun.set(true);
            self.watches_tasks.set(true);
        }
        self.stranger(|| drop(runnable));
    }

    /// Drops what the poll, or the drop, that blocks this worker may be waiting for, in a closed
    /// executor.
    #[cold]
    pub(super) fn close_down_blocked(&self) {
        self.discard_blocked(|| self.is_left_alone());
    }

    /// Drops what is queued or waits, or only what is pinned to this worker.
    pub(super) fn discard_blocked(&self, is_left_alone: impl FnOnce() -> bool) {
        let depth = self.closing.inside.get();
        if depth == MOST_INSIDE {
            return;
        }
        self.cancel_waiting();
        self.cancel_pinned();
        self.closing.inside.set(depth + 1);
        let is_alone = is_left_alone();
        let next = || match is_alone {
            true => self.next_to_discard(),
            false => self.next_pinned(),
        };
        while let Some(runnable) = next() {
            self.discard_inside(runnable);
        }
        self.closing.inside.set(depth);
    }

    /// Cancels waiting tasks and queues them, so that any free worker can drop them, or this one
    /// inside a drop that blocks. The first worker does this for the tasks of all workers.
    fn cancel_waiting(&self) {
        let shared = &**self.shared();
        // After that, a task that began to wait on this worker is found here, by the worker itself.
        let waiting = match shared.gate.begin_to_cancel() {
            true => shared.registry.cancel_all(),
            false => shared.registry.cancel_shard(self.index()),
        };
        if !waiting.is_empty() {
            // The queue takes all.
            waiting
                .into_iter()
                .for_each(|one| self.queues.push_beyond(one));
            self.notify();
        }
    }

    /// Cancels every waiting task that is pinned to this worker, and queues it.
    fn cancel_pinned(&self) {
        let waiting = self.shared().registry.cancel_pinned(self.index());
        waiting.into_iter().for_each(|one| self.push_pinned(one));
    }

    /// Takes a runnable that can be dropped on this thread: from its own queues, from the injector,
    /// or from the queue of another worker.
    fn next_to_discard(&self) -> Option<Runnable> {
        let own = self.next_queued().or_else(|| self.take_injected());
        own.or_else(|| {
            let stealers = &self.shared().stealers;
            let steal = |i: usize| self.queues.deques.steal_and_pop(&stealers[i], 1);
            self.others().find_map(steal).map(|(runnable, _)| runnable)
        })
    }

    /// Drops what only this worker can drop: what is queued here, and every task that is pinned to
    /// it. Those that the worker's owner has taken are the owner's to drop, and one that a caller
    /// further down the stack has in hand is that one's.
    fn discard_own(&self) {
        let (registry, index) = (&self.shared().registry, self.index());
        // A local future may be dropped on this thread only, so this waits for wake-ups of it that
        // are under way.
        wait_until(|| {
            self.cancel_pinned();
            self.discard_queued();
            registry.pinned(index) <= self.lent() + self.leave_in_hand()
        });
    }

    /// Leaves the tasks pinned to this worker that callers further down this stack have in hand to
    /// them, and returns their number.
    fn leave_in_hand(&self) -> usize {
        let is_own = |task: &&InHand| {
            ptr::eq(task.shared, &raw const **self.shared())
                && task.lane == Lane::Pinned(self.index())
        };
        let leave = |task: &InHand| task.is_left.set(true);
        IN_HAND.with(|all| all.walk(|all| all.filter(is_own).map(leave).count()))
    }
}

impl Worker {
    /// Whether it drops futures, and no new one will be polled.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.has_begun.get()
    }

    pub(super) fn has_arrived(&self) -> bool {
        self.closing.has_arrived.get()
    }

    /// Returns whether a search must end although it has found nothing.
    pub(super) fn is_over(&self) -> bool {
        let gate = &self.shared().gate;
        match self.closing.has_arrived.get() {
            false => gate.is_closed(),
            true => gate.is_quiet(),
        }
    }

    /// Whether this blocked worker drops what any worker could drop.
    ///
    /// A future that is dropped inside a blocked poll may itself wait for that very poll, and then
    /// neither ends. As long as another worker's last poll is over, or may be over soon, such
    /// futures are therefore left to that worker for some time.
    fn is_left_alone(&self) -> bool {
        let shared = &**self.shared();
        let mut others = (0..shared.workers()).filter(|&other| other != self.index());
        if self.closing.has_arrived.get() || shared.workers() == 1 {
            return true;
        }
        let now = now();
        let seen = self.closing.blocked.get();
        let since = match seen.filter(|&(_, last)| now - last < ALONE) {
            Some((since, _)) => since,
            None => now,
        };
        self.closing.blocked.set(Some((since, now)));
        let patience = match others.any(|other| shared.gate.has_arrived(other)) {
            true => ALONE_BESIDE_ARRIVED,
            false => ALONE,
        };
        now - since >= patience
    }
}

impl Shared {
    /// Tells the workers to shut down.
    pub(crate) fn close(&self) {
        if !self.is_closed() {
            self.gate.close();
            self.wake_all();
        }
    }

    /// Records that a worker's last poll is over. A worker that waits for the others inside its
    /// last poll counts as arrived too.
    pub(crate) fn arrive(&self, worker: usize) {
        if self.gate.arrive(worker) {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        for waker in self.sleep.wake_all() {
            current::stranger(|| waker.wake());
        }
    }

    /// Leaves as a worker, after dropping what only it can drop. The last worker drops everything
    /// that is left.
    pub(super) fn leave(&self, worker: &Running<'_>) {
        worker.discard_own();
        if !self.gate.leave() {
            return;
        }
        // Each task that waits was cancelled by the worker that entered it, or by the first one.
        worker.discard_queued();
        self.dispose_injected();
        Registry::hold(worker.shared());
        self.gate.terminate();
        self.dispose_injected();
        // The executor's tasks first: a stranger's waker may wait for anything.
        let (own, strangers) = { self.driver.close().into_iter() }
            .partition::<Vec<_>, _>(|waker| waker::is_of(waker, &FAMILY));
        worker.wake_strangers(own.into_iter().chain(strangers));
        worker.discard_queued();
    }

    /// Has a thread dispose of what was pushed too late, because the caller of a wake-up may hold
    /// any lock. This one does it if there can be none: the system refuses it, or the executor's
    /// host stands in for all threads.
    #[cold]
    pub(super) fn dispose_late(&self) {
        let start = || {
            let shared = self.this.upgrade().expect("the caller has a count");
            let thread = thread::Builder::new().name("joint-late".to_owned());
            !self.threads().has_host && thread.spawn(move || shared.dispose_injected()).is_ok()
        };
        gate::dispose_elsewhere(
            || self.has_none_injected(),
            start,
            || self.dispose_injected(),
        );
    }

    fn has_none_injected(&self) -> bool {
        let injectors = [&self.high_injector, &self.injector].into_iter();
        injectors
            .chain(&self.inboxes)
            .all(|inbox| inbox.is_drained())
    }

    /// Drops the runnables in the injectors and inboxes, and with them the futures.
    fn dispose_injected(&self) {
        let next = || (0..self.workers()).find_map(|worker| self.next_injected_for(worker));
        let dispose_one = || next().map(|one| dispose(self, one)).is_some();
        gate::dispose(dispose_one, || self.has_none_injected());
    }

    /// Takes the oldest runnable from the injectors, or else from the inbox of a worker.
    pub(crate) fn next_injected_for(&self, worker: usize) -> Option<Runnable> {
        let mut next = None;
        for queue in [&self.high_injector, &self.injector, &self.inboxes[worker]] {
            if next.is_none() {
                queue.take(1, |runnable| next = Some(runnable));
            }
        }
        next
    }
}

#[cfg(test)]
mod tests;
