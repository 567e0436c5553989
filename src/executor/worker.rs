//! One worker: its queues, its next-task slot, and its loop. `lookout.rs` has what it does when it has nothing to run.
//!
//! What runs next: the slot, which holds the one who waited for the task that has just ended; else a queue, oldest first: the high
//! lane's, the worker's own, and what is pinned to the worker; else the injector. Whoever comes late in that row comes first now and
//! then: see the constants. So no task starves behind others, however they wake each other.
//!
//! The slot cannot be stolen from, and need not be: it is filled only by the wake-up of a waiting task, after the last poll of the
//! task that it waited for, and emptied by the very next run. A foreign waker, whose code may do anything and for any time, finds
//! it closed.

use alloc::{collections::VecDeque, sync::Arc};
use core::{
    cell::{Cell, RefCell},
    future::Future,
    panic::Location,
    ptr,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_deque::Worker;

use super::{
    fork_join::{Forks, Helper},
    lookout::Lookout,
    metrics::Counters,
    registry::{Lane, Place},
    shared::{Home, Queues, Runnable, Shared},
};
use crate::{
    sync::thread_local,
    task::{Builder, End, JoinHandle},
};

/// Every so many runs a worker looks first at what comes from outside. Prime, so that it falls in step with no pattern of work.
const INJECTOR_INTERVAL: u64 = 61;
/// How many tasks in a row may come from the slot.
const SLOT_STREAK: u32 = 16;
/// How many tasks in a row may come from the high lane.
const HIGH_STREAK: u32 = 32;
/// How many tasks a worker takes from the injector at once.
const BATCH: usize = 64;
/// How many tasks a worker's own queue holds. What is more goes to the injector, whose queue takes no memory.
const MOST_QUEUED: usize = 1 << 14;

/// What belongs to one worker's thread alone.
pub(super) struct Local {
    shared: Arc<Shared>,
    index: usize,
    pub(super) normal: Worker<Runnable>,
    pub(super) high: Worker<Runnable>,
    pinned: RefCell<VecDeque<Runnable>>,
    slot: Cell<Option<Runnable>>,
    /// Whether a push goes to the slot: while the one who waited for a task is being woken.
    slot_is_open: Cell<bool>,
    /// Runs in a row that came from the slot.
    slot_streak: Cell<u32>,
    /// Runs in a row that came from the high lane.
    high_streak: Cell<u32>,
    runs: Cell<u64>,
    /// Whether a task of another executor is being disposed of.
    is_elsewhere: Cell<bool>,
    pub(super) lookout: Lookout,
    pub(super) helper: Helper,
}

thread_local! {
    static CURRENT: Cell<*const Local> = const { Cell::new(ptr::null()) };
}

thread_local! {
    /// The current worker's forks: a join takes no more than this.
    static FORKS: Cell<*const Forks> = const { Cell::new(ptr::null()) };
}

/// The forks of the worker that this thread is. Not to be kept.
#[inline]
pub(super) fn own_forks<'a>() -> Option<&'a Forks> {
    let forks = FORKS.with(Cell::get);
    // SAFETY: set by `Local::main` to what lives as long as the executor, which outlives the worker, and reset before that goes.
    unsafe { forks.as_ref() }
}

/// Calls `f` with the worker that this thread is.
#[inline]
pub(super) fn with_current<R>(f: impl FnOnce(Option<&Local>) -> R) -> R {
    let current = CURRENT.with(Cell::get);
    // SAFETY: set by `Local::main` to a value that outlives it on this thread's stack, and reset before that goes.
    f(unsafe { current.as_ref() })
}

/// Runs what may panic and must not take the worker down. The panic hook has told of the panic.
pub(super) fn guarded(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // The payload's own drop may panic as well. What that leaves is not worth the worker.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            core::mem::forget(again);
        }
    }
}

/// Drops a runnable of `shared`, and with it the future. True: a worker of that executor does it, and has counted it.
pub(super) fn dispose(shared: &Shared, runnable: Runnable) -> bool {
    with_current(|local| {
        let is_its_worker = local.is_some_and(|local| ptr::eq(&*local.shared, shared));
        if let Some(local) = local {
            let before = local.is_elsewhere.replace(!is_its_worker);
            guarded(|| drop(runnable));
            local.is_elsewhere.set(before);
        } else {
            guarded(|| drop(runnable));
        }
        is_its_worker
    })
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
            shared,
            index,
            normal,
            high,
            pinned: RefCell::default(),
            slot: Cell::new(None),
            slot_is_open: Cell::new(false),
            slot_streak: Cell::new(0),
            high_streak: Cell::new(0),
            runs: Cell::new(0),
            is_elsewhere: Cell::new(false),
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

    pub(super) fn runs(&self) -> u64 {
        self.runs.get()
    }

    #[inline]
    pub(super) fn count_end(&self, how: End) {
        if self.is_elsewhere.get() {
            return;
        }
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
        self.counters().spawned.increment();
        self.push_normal(runnable);
        handle
    }

    #[inline]
    pub(super) fn spawn_detached<F>(&self, spawned: &'static Location<'static>, future: F)
    where
        F: Future + Send + 'static,
    {
        self.counters().spawned.increment();
        self.push_normal(new_detached(spawned, future));
    }

    /// Queues a runnable where it belongs.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable, lane: Lane) {
        match lane {
            Lane::Normal => self.push_normal(runnable),
            Lane::High => self.push_high(runnable),
            Lane::Pinned(worker) if worker == self.index => {
                self.pinned.borrow_mut().push_back(runnable);
            }
            Lane::Pinned(_) => self.shared.inject(runnable, lane),
        }
    }

    #[inline]
    fn push_normal(&self, runnable: Runnable) {
        if self.slot_is_open.get() && self.slot_streak.get() < SLOT_STREAK {
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
            self.shared.normal.injector.push(runnable);
        }
    }

    #[inline]
    fn notify(&self) {
        if self.shared.sleep.notify(self.shared.is_worth_a_wake()) {
            self.counters().wakes.increment();
        }
    }

    /// Queues a runnable that this worker has just run. Alone in the queue it is no reason to wake anybody: it is next.
    #[inline]
    fn requeue(&self, runnable: Runnable) {
        match runnable.metadata().home() {
            Some(home) if home.lane != Lane::Normal => self.push(runnable, home.lane),
            _ => {
                let is_alone = self.normal.is_empty();
                self.queue(runnable);
                if !is_alone {
                    self.notify();
                }
            }
        }
    }

    /// The whole life of a worker.
    pub(super) fn main(self) {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(ptr::null()));
                FORKS.with(|forks| forks.set(ptr::null()));
            }
        }
        CURRENT.with(|current| current.set(&raw const self));
        FORKS.with(|forks| forks.set(&raw const *self.shared.forks[self.index]));
        let _reset = Reset;
        self.helper.begin();
        while !self.shared.is_closed() {
            match self.next() {
                Some(runnable) => self.run(runnable),
                None => self.look_out(),
            }
        }
        self.shared.leave(&self);
    }

    pub(super) fn run(&self, runnable: Runnable) {
        self.runs.set(self.runs.get() + 1);
        self.counters().polls.set(self.runs.get());
        let (again, waiter) = runnable.run_in_executor();
        if let Some(runnable) = again {
            self.requeue(runnable);
        }
        if let Some(waiter) = waiter {
            self.slot_is_open.set(waiter.is_own());
            guarded(|| waiter.wake());
            self.slot_is_open.set(false);
        }
    }

    /// What this worker has to run, without a search.
    #[inline]
    fn next(&self) -> Option<Runnable> {
        if let Some(runnable) = self.slot.take() {
            self.slot_streak.set(self.slot_streak.get() + 1);
            return Some(runnable);
        }
        self.slot_streak.set(0);
        if self.runs.get() % INJECTOR_INTERVAL == 0 {
            if let Some(injected) = self.next_in_turn() {
                return Some(injected);
            }
        }
        self.next_high()
            .or_else(|| self.normal.pop())
            .or_else(|| self.next_pinned())
            .or_else(|| self.next_injected())
    }

    #[inline]
    fn next_high(&self) -> Option<Runnable> {
        if self.high.is_empty() {
            return None;
        }
        let streak = self.high_streak.get();
        if streak == HIGH_STREAK {
            self.high_streak.set(0);
            return None;
        }
        self.high_streak.set(streak + 1);
        self.high.pop()
    }

    pub(super) fn next_pinned(&self) -> Option<Runnable> {
        let mut pinned = self.pinned.borrow_mut();
        pinned.extend(self.shared.inboxes[self.index].take_all());
        pinned.pop_front()
    }

    /// What has come last in the row for long.
    #[cold]
    fn next_in_turn(&self) -> Option<Runnable> {
        // In turn, as either could always have something.
        if self.runs.get() / INJECTOR_INTERVAL % 2 == 0 {
            self.next_pinned().or_else(|| self.next_injected())
        } else {
            self.next_injected().or_else(|| self.next_pinned())
        }
    }

    /// Takes from the injector outside of a search, and tells the others when there is more than this worker runs next.
    pub(super) fn next_injected(&self) -> Option<Runnable> {
        let injected = self.take_injected()?;
        if !self.normal.is_empty() || !self.high.is_empty() || self.shared.has_injected() {
            self.notify();
        }
        Some(injected)
    }

    /// Takes a batch from the injector to the worker's own queues. The first comes back.
    pub(super) fn take_injected(&self) -> Option<Runnable> {
        let take = |queues: &Queues, own: &Worker<Runnable>| {
            let mut first = None;
            queues.injector.take(BATCH, |runnable| match first {
                None => first = Some(runnable),
                Some(_) => own.push(runnable),
            });
            first
        };
        take(&self.shared.high, &self.high).or_else(|| take(&self.shared.normal, &self.normal))
    }

    /// Whether there is something that this worker alone can run.
    pub(super) fn has_pinned(&self) -> bool {
        !self.shared.inboxes[self.index].is_empty() || !self.pinned.borrow().is_empty()
    }

    /// Drops what is queued here, and with it the futures; and what that queues.
    pub(super) fn discard_queued(&self) {
        let next = || {
            self.slot
                .take()
                .or_else(|| self.high.pop())
                .or_else(|| self.normal.pop())
                .or_else(|| self.next_pinned())
        };
        while let Some(runnable) = next() {
            guarded(|| drop(runnable));
        }
    }
}

/// A task of the executor, not yet queued.
#[inline]
pub(super) fn new_task<F>(
    spawned: &'static Location<'static>,
    future: F,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let builder = Builder::spawned_at(spawned).metadata(Place::nowhere());
    let (runnable, handle) = builder.spawn(|_| future, Home);
    (runnable, handle.without_metadata())
}

/// A task of the executor that nobody joins, not yet queued.
#[inline]
pub(super) fn new_detached<F>(spawned: &'static Location<'static>, future: F) -> Runnable
where
    F: Future + Send + 'static,
{
    let builder = Builder::spawned_at(spawned).metadata(Place::nowhere());
    builder.spawn_detached(|_| future, Home)
}
