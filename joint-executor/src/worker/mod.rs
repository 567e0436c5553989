//! One worker: its queues, its LIFO slot, and its loop.
//!
//! # The way of a spawned task
//! 1. `launch.rs` makes the task, counts it, and pushes its runnable: on a worker onto that
//!    worker's own stack of spawned tasks, on any other thread into the injector
//!    ([`Shared::inject`]).
//! 2. The push wakes a sleeping worker if no worker is looking for work (`sleep.rs`).
//! 3. A worker takes its next runnable by turns from the LIFO slot, its own queues and the injector
//!    (`queues/turn.rs`). An idle worker steals it from another one that is slow (`idle/steal.rs`).
//! 4. [`Running::run`] polls the future once.
//! 5. If the future is pending, the task is entered in the registry of owned tasks the first time
//!    ([`Scheduler`](shared::Scheduler)), and waits there.
//! 6. A wake-up schedules it: on a worker into that worker's queue or LIFO slot, on any other
//!    thread into the injector, or into the inbox of the worker that it is pinned to. It continues
//!    at 2.
//! 7. If the future is ready, the run stores the output and hands back the waker of the task that
//!    waits for it. That task goes to the LIFO slot and runs next.
//!
//! `closing.rs` has what becomes of tasks when the executor ends, and `blocked.rs` what a worker
//! does while a poll blocks its thread.
//!
//! # The LIFO slot
//! The slot cannot be stolen from, and need not be: it is filled only by the wake-up of a waiting
//! task, after the last poll of the task that it waited for, and emptied by the very next run. It
//! is open while one of this executor's tasks is being woken, which runs no other code, and closed
//! while any stranger's code runs, because that may do anything and may take any time.

use alloc::{string::String, sync::Arc, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    ptr,
};
use std::time::Instant;

mod attend;
mod blocked;
mod closing;
pub(crate) mod current;
#[cfg(test)]
mod harness;
mod help;
mod idle;
pub(super) mod launch;
mod queues;
pub(crate) mod shared;
mod state;
pub(crate) mod stepped;

pub(crate) use self::state::Running;
use self::{
    attend::Attendant,
    blocked::attend_while_blocked,
    closing::Closing,
    current::{stranger, with_current, with_worker_of},
    help::Helper,
    idle::steal::Lookout,
    queues::{After, Queues},
    shared::{EntryLink, FAMILY, Runnable, Shared},
    stepped::Stepping,
};
use super::{
    deques::Deques,
    guard::Frames,
    hooks::Hooks,
    metrics::Counters,
    policy::{MOST_INSIDE, MOST_QUEUED},
    registry::Lane,
    task_info::{DataSlot, TaskInfo},
    who,
};
use joint::{
    budget,
    host::{self, Host},
    task::{EndedTask, Polled, TaskEnd},
};
use joint_switch::thread_local;

/// One worker. Only its own thread touches it.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    index: usize,
    queues: Queues,
    runs: Cell<u64>,
    /// A copy of [`Shared::watches_tasks`], read on every spawn. Also true once this worker drops
    /// futures at the end, when a spawned one is dropped at once.
    watches_tasks: Cell<bool>,
    /// Whether there is something to do for each poll, such as a hook.
    watches_polls: bool,
    /// The same for each wake-up.
    watches_wakes: bool,
    /// The name of the task that is running, which may be gone after its run.
    name: RefCell<String>,
    /// Whether a local task was ever spawned here.
    has_had_local: Cell<bool>,
    pub(super) stepping: Stepping,
    closing: Closing,
    /// A run whose poll is blocked, and the time at which it looks again whether that is an error.
    next_blocked_check: Cell<Option<(u64, Instant)>>,
    lookout: Lookout,
    helper: Helper,
    attendant: Attendant,
}

/// The disposal of a runnable of `shared` on this thread.
struct Disposal {
    shared: *const Shared,
    /// Those to dispose of next.
    left: RefCell<Vec<Runnable>>,
}

thread_local! {
    static DISPOSALS: Frames<Disposal> = const { Frames::new() };
}

/// Drops a runnable of `shared`, and with it the future, on whatever thread this is.
pub(super) fn dispose(shared: &Shared, runnable: Runnable) {
    let is_own = with_worker_of(shared, |worker| worker.is_some());
    let left = RefCell::default();
    let disposal = Disposal { shared, left };
    let mut next = Some(runnable);
    while let Some(one) = next {
        let f = || who::as_disposed(is_own, || drop(one));
        // A worker may be in the middle of a wake-up.
        stranger(|| DISPOSALS.with(|all| all.during(&disposal, f)));
        next = disposal.left.borrow_mut().pop();
    }
}

/// Disposes of a runnable that was spawned too late. Deeper on this thread's stack, the work is
/// left to the innermost disposal, so that a chain of tasks that spawn each other when they are
/// dropped needs no stack.
#[cold]
pub(super) fn dispose_spawned(shared: &Shared, runnable: Runnable) {
    let here = DISPOSALS.with(|all| {
        all.walk(|all| {
            let mut own = all.filter(|one| ptr::eq(one.shared, shared));
            match own.next() {
                Some(innermost) if own.count() + 1 >= MOST_INSIDE => {
                    innermost.left.borrow_mut().push(runnable);
                    None
                }
                _ => Some(runnable),
            }
        })
    });
    here.into_iter().for_each(|one| dispose(shared, one));
}

/// Counts a task whose future has just been dropped on this thread, by the executor's own worker or
/// by [`dispose`], and calls the hooks for its end.
#[inline]
pub(super) fn ended(task: &EndedTask<'_, EntryLink>, how: TaskEnd) {
    with_current(|worker| match worker {
        Some(worker) if !who::is_disposed() => {
            worker.count_end(how);
            if worker.shared.watches_tasks {
                // SAFETY: the runner calls this.
                unsafe { worker.shared.hooks.ended(task, how) };
            }
        }
        _ => ended_elsewhere(task, how),
    });
}

#[cold]
fn ended_elsewhere(task: &EndedTask<'_, EntryLink>, how: TaskEnd) {
    let innermost = DISPOSALS.with(|all| all.walk(|all| all.next().map(|one| one.shared)));
    if let Some(shared) = innermost {
        // SAFETY: the call of `dispose` on this stack has been lent it.
        let shared = unsafe { &*shared };
        shared.outside.count_end(how);
        // SAFETY: the runner calls this.
        unsafe { shared.hooks.ended(task, how) };
    }
}

impl Worker {
    fn new(shared: Arc<Shared>, index: usize, deques: Deques<Runnable>) -> Self {
        Self {
            lookout: Lookout::new(index, shared.workers()),
            helper: Helper::new(shared.workers()),
            attendant: Attendant::default(),
            watches_tasks: Cell::new(shared.watches_tasks),
            watches_polls: shared.hooks.watch_polls(),
            watches_wakes: shared.hooks.watch_wakes(),
            stepping: Stepping::new(&shared),
            shared,
            index,
            queues: Queues::new(deques),
            runs: Cell::new(0),
            name: RefCell::default(),
            has_had_local: Cell::new(false),
            closing: Closing::default(),
            next_blocked_check: Cell::new(None),
        }
    }

    #[inline]
    pub(super) fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[inline]
    pub(super) fn counters(&self) -> &Counters {
        &self.shared.counters[self.index]
    }

    #[inline]
    pub(super) fn runs(&self) -> u64 {
        self.runs.get()
    }

    #[inline]
    fn count_end(&self, how: TaskEnd) {
        let counters = self.counters();
        match how {
            TaskEnd::Finished => &counters.finished,
            TaskEnd::Panicked => &counters.panicked,
            TaskEnd::Cancelled => &counters.cancelled,
        }
        .increment();
    }

    /// Whether there is one task that another worker could take, which may not be announced.
    fn has_one(&self) -> bool {
        self.shared.stealers[self.index].len() == 1
    }

    /// Returns whether another worker has nothing to do.
    pub(super) fn is_anybody_idle(&self) -> bool {
        self.shared.sleep.is_anybody_idle()
    }

    /// Takes a task from any of this worker's queues, in no particular order.
    pub(super) fn next_queued(&self) -> Option<Runnable> {
        self.queues.pop().or_else(|| self.next_pinned())
    }

    /// Calls `f` while this thread is the worker, with all its duties.
    pub(crate) fn on_thread<R>(&self, f: impl FnOnce() -> R) -> R {
        struct OnThread(Host);
        impl Drop for OnThread {
            fn drop(&mut self) {
                let Self(before) = self;
                host::update(|host| {
                    host.attend = before.attend;
                    host.on_refused = before.on_refused;
                    host.on_wait = before.on_wait;
                });
            }
        }
        let _this_thread = self.become_this_thread();
        let _duties = OnThread(host::update(|host| {
            host.attend = Some(attend_while_blocked);
            host.on_refused = Some(|| {
                with_current(|worker| worker.into_iter().for_each(|worker| worker.hurry_turn()));
            });
            host.on_wait = self.shared.hooks.on_wait;
        }));
        self.helper.begin();
        self.as_current(f)
    }
}

impl Running<'_> {
    /// Queues a runnable where it belongs.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable, lane: Lane) {
        match lane {
            Lane::Normal => self.push_normal(runnable),
            Lane::High => self.push_high(runnable),
            Lane::Pinned(worker) if worker == self.index() => self.push_pinned(runnable),
            Lane::Pinned(_) => self.shared().inject(runnable, lane),
        }
    }

    /// Queues a new runnable of the normal lane, which runs before those that were queued earlier.
    #[inline]
    fn push_spawned(&self, runnable: Runnable) {
        let pushed = self.queues.deques.push_spawned(runnable, MOST_QUEUED);
        pushed.unwrap_or_else(|runnable| self.inject(runnable));
        self.notify();
    }

    /// Pushes a task of the normal lane behind all others in the queue.
    #[inline(always)]
    fn push_behind(&self, runnable: Runnable) {
        let pushed = self.queues.deques.push_woken(runnable, MOST_QUEUED);
        pushed.unwrap_or_else(|runnable| self.inject(runnable));
    }

    #[inline]
    fn push_normal(&self, runnable: Runnable) {
        if let Some(queued) = self.queues.fill_slot(runnable) {
            self.push_behind(queued);
            self.notify_unless(|| self.runs_it_next());
        }
    }

    #[cold]
    fn inject(&self, runnable: Runnable) {
        self.shared().injector.push(runnable);
        if self.shared().hooks.on_push.is_some() {
            self.notify();
            self.stranger(|| self.shared().hooks.pushed());
        }
    }

    #[cold]
    fn push_high(&self, runnable: Runnable) {
        self.queues.deques.push_high(runnable);
        self.notify();
    }

    /// Whether the task that has just been pushed is the next one that this worker runs, and no
    /// other worker has to keep the driver meanwhile.
    #[cold]
    fn runs_it_next(&self) -> bool {
        self.queues.after() == After::Queue && self.has_one() && !self.leaves_driver()
    }

    /// Queues a runnable that was woken during its own run. One of the normal lane is announced
    /// after the next take ([`next`](Running::next)), and a pinned one when its turn comes.
    #[inline]
    fn requeue(&self, runnable: Runnable) {
        if !runnable.metadata().is_normal() {
            let lane = runnable.metadata().lane();
            return self.push(runnable, lane);
        }
        self.queues.before_yield();
        self.push_behind(runnable);
    }

    /// Runs tasks until the executor is closed, and then shuts down.
    fn work(mut self) {
        loop {
            let next = self.next();
            // After the take, so that no task runs which was spawned after the executor was closed.
            match (next, self.shared().is_closed()) {
                (Some(runnable), false) => self.run(runnable),
                (None, false) => self = self.look_out(),
                (next, true) => {
                    next.into_iter().for_each(|late| self.discard_inside(late));
                    return self.close_down();
                }
            }
        }
    }

    // Always: see `next`.
    #[inline(always)]
    pub(super) fn run(&self, runnable: Runnable) {
        budget::refill();
        match self.watches_polls {
            false => self.settle(self.poll(runnable)),
            true => self.run_watched(runnable, |polled| self.settle(polled)),
        }
    }

    #[inline(always)]
    fn poll(&self, runnable: Runnable) -> Polled<EntryLink> {
        self.runs.set(self.runs.get() + 1);
        self.counters().polls.set(self.runs.get());
        runnable.poll()
    }

    /// Does what a run has left to do.
    #[inline(always)]
    fn settle(&self, polled: Polled<EntryLink>) {
        match polled {
            Polled::Pending | Polled::Ended(None) => {}
            Polled::Woken(runnable) => self.requeue(runnable),
            Polled::Ended(Some(waiter)) if waiter.is_of(&FAMILY) => {
                self.queues.before(After::Slot, || waiter.wake());
            }
            Polled::Ended(Some(waiter)) => self.stranger(|| waiter.wake()),
        }
    }

    /// Runs a task, with the hooks for it. `settle` does what the run has left to do, if the
    /// task has ended before the last hook, which may wait for that.
    #[cold]
    fn run_watched<R>(&self, runnable: Runnable, settle: impl FnOnce(Polled<EntryLink>) -> R) -> R {
        let hooks = &self.shared().hooks;
        self.stranger(|| Hooks::task(&hooks.before_poll, &runnable));
        let (id, spawned) = (runnable.id(), runnable.spawned());
        // Taken out of the cell, because a hook's code could come back here.
        let mut kept = self.name.take();
        kept.clear();
        let has_name = hooks.after_poll.is_some() && runnable.name().is_some();
        kept.push_str(runnable.name().filter(|_| has_name).unwrap_or_default());
        // SAFETY: the runnable is here.
        let data = unsafe { DataSlot::get(runnable.view()) };
        let data = data.filter(|_| hooks.after_poll.is_some()).cloned();
        let after = |running: &Self, kept: &str| {
            if hooks.after_poll.is_some() {
                let name = has_name.then_some(kept);
                running.stranger(|| {
                    let data = data;
                    let info = TaskInfo::new(id, name, spawned);
                    hooks.after_poll(&info.with_data(data.as_deref()));
                });
            }
        };
        let settled = match self.poll(runnable) {
            Polled::Woken(runnable) => {
                after(self, &kept);
                settle(Polled::Woken(self.woken(runnable)))
            }
            polled => {
                let settled = settle(polled);
                after(self, &kept);
                settled
            }
        };
        self.name.replace(kept);
        settled
    }

    /// Calls the hook for a task that this worker is about to queue because it was woken.
    #[cold]
    fn woken(&self, runnable: Runnable) -> Runnable {
        self.stranger(|| Hooks::task(&self.shared().hooks.on_wake, &runnable));
        runnable
    }

    /// Moves the task in the LIFO slot to where other workers find it.
    fn show_slot(&self) {
        if let Some(runnable) = self.queues.take_slot() {
            self.queues
                .before(After::Anything, || self.push_normal(runnable));
        }
    }

    /// Drops all tasks in this worker's queues, including those that the drops queue.
    pub(super) fn discard_queued(&self) {
        while let Some(runnable) = self.next_queued() {
            self.discard_inside(runnable);
        }
    }
}

#[cfg(test)]
mod tests;
