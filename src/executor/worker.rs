//! One worker: its queues, its next-task slot, and its loop. `turn.rs` has what it runs next, `lookout.rs` what it does when it has
//! nothing to run.
//!
//! The slot cannot be stolen from, and need not be: it is filled only by the wake-up of a waiting task, after the last poll of the
//! task that it waited for, and emptied by the very next run. A foreign waker, whose code may do anything and for any time, finds
//! it closed.

use alloc::{collections::VecDeque, string::String, sync::Arc};
use core::{
    cell::{Cell, RefCell},
    future::Future,
    mem,
    panic::Location,
    ptr,
    task::Waker,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_deque::Worker;

use super::{
    attend::Attendant,
    blocked::attend_while_blocked,
    closing::Closing,
    current::with_current,
    fork_join::Helper,
    hooks::{Hooks, TaskInfo},
    lookout::Lookout,
    metrics::Counters,
    registry::{Lane, Place},
    shared::{Runnable, Shared},
    task_builder::{launch, new_detached, new_task},
    turn::Turns,
};
use crate::{
    sync::thread_local,
    task::{End, Ended, JoinHandle},
    waker::{ThinWaker, budget},
};

/// How many tasks a worker's own queue holds. What is more goes to the injector, whose queue takes no memory.
const MOST_QUEUED: usize = 1 << 14;

/// What belongs to one worker's thread alone.
pub(super) struct Local {
    shared: Arc<Shared>,
    index: usize,
    pub(super) normal: Worker<Runnable>,
    pub(super) high: Worker<Runnable>,
    pub(super) pinned: RefCell<VecDeque<Runnable>>,
    pub(super) slot: Cell<Option<Runnable>>,
    /// Whether a push goes to the slot: while the one who waited for a task is being woken.
    slot_is_open: Cell<bool>,
    runs: Cell<u64>,
    /// [`Shared::watches_tasks`], where it costs no look elsewhere.
    watches_tasks: bool,
    /// For the name of a task that may be gone after its run.
    name: RefCell<String>,
    /// Whether a task of another executor is being disposed of.
    pub(super) is_elsewhere: Cell<bool>,
    pub(super) closing: Closing,
    pub(super) turns: Turns,
    pub(super) lookout: Lookout,
    pub(super) helper: Helper,
    #[cfg_attr(not(feature = "io"), allow(dead_code, reason = "nothing to attend to"))]
    pub(super) attendant: Attendant,
}

thread_local! {
    /// Whose runnable is being disposed of.
    static DISPOSING: Cell<*const Shared> = const { Cell::new(ptr::null()) };
}

/// Runs what may panic and must not take the worker down. The panic hook has told of the panic.
#[inline]
pub(super) fn guarded(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // The payload's own drop may panic as well. What that leaves is not worth the worker.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            mem::forget(again);
        }
    }
}

/// Wakes them all: none is kept from it by what another one does.
pub(super) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        guarded(|| waker.wake());
    }
}

/// Drops runnables of this worker's executor, and with them the futures.
pub(super) fn discard(runnables: impl IntoIterator<Item = Runnable>) {
    for runnable in runnables {
        guarded(|| drop(runnable));
    }
}

/// Drops a runnable of `shared`, and with it the future, on whatever thread this is.
pub(super) fn dispose(shared: &Shared, runnable: Runnable) {
    with_current(|local| {
        let is_its_worker = local.is_some_and(|local| ptr::eq(&*local.shared, shared));
        let elsewhere = local.map(|local| (local, local.is_elsewhere.replace(!is_its_worker)));
        let before = DISPOSING.with(|disposing| disposing.replace(shared));
        guarded(|| drop(runnable));
        DISPOSING.with(|disposing| disposing.set(before));
        if let Some((local, before)) = elsewhere {
            local.is_elsewhere.set(before);
        }
    });
}

/// Counts and tells of a task whose future has just been dropped on this thread: by the executor's own worker, or by [`dispose`].
#[inline]
pub(super) fn ended(task: &Ended<'_, Place>, how: End) {
    with_current(|local| match local {
        Some(local) if !local.is_elsewhere.get() => {
            local.count_end(how);
            if local.watches_tasks {
                let hooks = &local.shared.hooks;
                record!(hooks, Some(local.index), Gone(task.id(), how));
                hooks.ended(task, how);
            }
        }
        _ => ended_elsewhere(task, how),
    });
}

#[cold]
fn ended_elsewhere(task: &Ended<'_, Place>, how: End) {
    let disposing = DISPOSING.with(Cell::get);
    // SAFETY: set by `dispose`, which has been lent it, for as long as it drops the future.
    if let Some(shared) = unsafe { disposing.as_ref() } {
        shared.count_end_outside(how);
        record!(shared.hooks, None, Gone(task.id(), how));
        shared.hooks.ended(task, how);
    }
}

impl Local {
    pub(super) fn new(
        shared: Arc<Shared>,
        index: usize,
        normal: Worker<Runnable>,
        high: Worker<Runnable>,
    ) -> Self {
        Self {
            lookout: Lookout::new(index, shared.workers()),
            helper: Helper::new(shared.workers()),
            attendant: Attendant::default(),
            watches_tasks: shared.watches_tasks,
            shared,
            index,
            normal,
            high,
            pinned: RefCell::default(),
            slot: Cell::new(None),
            slot_is_open: Cell::new(false),
            runs: Cell::new(0),
            name: RefCell::default(),
            is_elsewhere: Cell::new(false),
            closing: Closing::default(),
            turns: Turns::default(),
        }
    }

    #[inline]
    pub(super) fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(super) fn shared(&self) -> &Arc<Shared> {
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
    fn count_end(&self, how: End) {
        let counters = self.counters();
        match how {
            End::Output => &counters.finished,
            End::Panic => &counters.panicked,
            End::Cancelled => &counters.cancelled,
        }
        .increment();
    }

    #[inline]
    pub(super) fn spawn<F>(
        &self,
        spawned: &'static Location<'static>,
        future: F,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, handle) = new_task(spawned, future);
        if self.watches_tasks {
            launch(&self.shared, Some(self), runnable, Lane::Normal);
        } else {
            self.counters().spawned.increment();
            self.push_normal(runnable);
        }
        handle
    }

    #[inline]
    pub(super) fn spawn_detached<F>(&self, spawned: &'static Location<'static>, future: F)
    where
        F: Future + Send + 'static,
    {
        let runnable = new_detached(spawned, future);
        if self.watches_tasks {
            launch(&self.shared, Some(self), runnable, Lane::Normal);
        } else {
            self.counters().spawned.increment();
            self.push_normal(runnable);
        }
    }

    /// Queues a runnable where it belongs.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable, lane: Lane) {
        match lane {
            Lane::Normal => self.push_normal(runnable),
            Lane::High => self.push_high(runnable),
            Lane::Pinned(worker) if worker == self.index => {
                let mut pinned = self.pinned.borrow_mut();
                pinned.push_back(runnable);
                self.set_pinned_turn(pinned.len());
            }
            Lane::Pinned(_) => self.shared.inject(runnable, lane),
        }
    }

    #[inline]
    fn push_normal(&self, runnable: Runnable) {
        if self.slot_is_open.get() && self.turns.slot_is_due() {
            let displaced = self.slot.replace(Some(runnable));
            let Some(displaced) = displaced else { return };
            self.queue(displaced);
        } else {
            self.queue(runnable);
        }
        self.notify();
    }

    #[cold]
    fn push_high(&self, runnable: Runnable) {
        self.high.push(runnable);
        self.notify();
    }

    #[inline]
    fn queue(&self, runnable: Runnable) {
        if self.normal.len() < MOST_QUEUED {
            self.normal.push(runnable);
        } else {
            self.queue_elsewhere(runnable);
        }
    }

    #[cold]
    fn queue_elsewhere(&self, runnable: Runnable) {
        self.shared.normal.injector.push(runnable);
    }

    #[inline]
    pub(super) fn notify(&self) {
        if self.shared.sleep.notify(self.shared.is_worth_a_wake()) {
            self.counters().wakes.increment();
        }
    }

    /// Queues a runnable that this worker has just run. Alone it is no reason to wake anybody: it is next; but for what is pinned,
    /// whose turn tells of it.
    #[inline]
    fn requeue(&self, runnable: Runnable) {
        match runnable.metadata().home() {
            Some(home) if home.lane != Lane::Normal => self.push(runnable, home.lane),
            _ => {
                let is_alone = self.normal.is_empty() && self.high.is_empty();
                self.queue(runnable);
                if !is_alone {
                    self.notify();
                }
            }
        }
    }

    /// The whole life of a worker.
    pub(super) fn main(self) {
        self.work();
        Hooks::worker(&self.shared.hooks.on_thread_stop, self.index);
    }

    fn work(&self) {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                attend_while_blocked(false);
                budget::set_on_refused(None);
            }
        }
        let _this_thread = self.become_this_thread();
        attend_while_blocked(true);
        budget::set_on_refused(Some(|| {
            with_current(|local| local.into_iter().for_each(Local::hurry_turn));
        }));
        let _reset = Reset;
        self.shared.sleep.begin();
        self.helper.begin();
        Hooks::worker(&self.shared.hooks.on_thread_start, self.index);
        while !self.shared.is_closed() {
            match self.next() {
                Some(runnable) => self.run(runnable),
                None => self.look_out(),
            }
        }
        self.close_down();
    }

    // Always: see `next`.
    #[inline(always)]
    pub(super) fn run(&self, runnable: Runnable) {
        self.runs.set(self.runs.get() + 1);
        self.counters().polls.set(self.runs.get());
        budget::begin();
        let (again, waiter) = match self.watches_tasks {
            false => runnable.run_in_executor(),
            true => self.run_watched(runnable),
        };
        if let Some(runnable) = again {
            self.requeue(runnable);
        }
        if let Some(waiter) = waiter {
            self.slot_is_open.set(waiter.is_own());
            guarded(|| waiter.wake());
            self.slot_is_open.set(false);
        }
    }

    #[cold]
    fn run_watched(&self, runnable: Runnable) -> (Option<Runnable>, Option<ThinWaker>) {
        let hooks = &self.shared.hooks;
        hooks.before_poll(&runnable);
        let (id, spawned) = (runnable.id(), runnable.spawned());
        // Taken out: a hook's code could come back here.
        let mut kept = self.name.take();
        kept.clear();
        let has_name = hooks.after_poll.is_some() && runnable.name().is_some();
        kept.push_str(runnable.name().filter(|_| has_name).unwrap_or_default());
        record!(
            hooks,
            Some(self.index),
            Begin(runnable.id(), runnable.name().map(Box::from), spawned)
        );
        let ran = runnable.run_in_executor();
        record!(hooks, Some(self.index), End(ran.0.is_some()));
        hooks.after_poll(&TaskInfo::new(id, has_name.then_some(&*kept), spawned));
        self.name.replace(kept);
        ran
    }

    /// Calls the hooks round a rest.
    pub(super) fn rest<R>(&self, rest: impl FnOnce() -> R) -> R {
        Hooks::worker(&self.shared.hooks.on_park, self.index);
        record!(self.shared.hooks, Some(self.index), Park);
        let rested = rest();
        record!(self.shared.hooks, Some(self.index), Unpark);
        Hooks::worker(&self.shared.hooks.on_unpark, self.index);
        rested
    }

    /// Whatever is queued here, in no particular order.
    pub(super) fn next_queued(&self) -> Option<Runnable> {
        self.slot
            .take()
            .or_else(|| self.high.pop())
            .or_else(|| self.normal.pop())
            .or_else(|| self.next_pinned())
    }

    /// Drops what is queued here, and with it the futures; and what that queues.
    pub(super) fn discard_queued(&self) {
        discard(core::iter::from_fn(|| self.next_queued()));
    }
}

#[cfg(test)]
mod tests;
