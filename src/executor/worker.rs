//! One worker: its queue, its next-task slot, and its loop.
//!
//! What runs next: the slot, which holds the one who waited for the task that has just ended; else the worker's own queue,
//! oldest first; else the injector; else what another worker's queue has to spare. The injector comes first every
//! [`INJECTOR_INTERVAL`] runs, and the slot is passed over after [`SLOT_STREAK`] runs in a row, so that neither the tasks from
//! outside nor those in the queue starve.
//!
//! The slot cannot be stolen from, and need not be: it is filled only by the wake-up of a waiting task, after the last poll of the
//! task that it waited for, and emptied by the very next run. A foreign waker, whose code may do anything and for any time, finds
//! it closed.

use alloc::sync::Arc;
use core::{cell::Cell, future::Future, hint, panic::Location, ptr};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_deque::{Steal, Stealer, Worker};

use super::{
    metrics::Counters,
    registry::Registered,
    shared::{Remote, Shared},
};
use crate::{
    sync::thread_local,
    task::{Builder, Copied, JoinHandle, Runnable},
};

/// Every so many runs a worker looks into the injector first. Prime, so that it falls in step with no pattern of work.
const INJECTOR_INTERVAL: u32 = 61;
/// How many tasks in a row may come from the slot.
const SLOT_STREAK: u32 = 16;
/// How often a worker looks round before it sleeps: a wake-up costs more than a look.
const SEARCH_ROUNDS: u32 = 4;

/// What belongs to one worker's thread alone.
pub(super) struct Local {
    shared: Arc<Shared>,
    index: usize,
    queue: Worker<Runnable>,
    slot: Cell<Option<Runnable>>,
    /// Whether a push goes to the slot: while the one who waited for a task is being woken.
    slot_is_open: Cell<bool>,
    /// Runs in a row that came from the slot.
    streak: Cell<u32>,
    runs: Cell<u32>,
    random: Cell<u32>,
}

thread_local! {
    static CURRENT: Cell<*const Local> = const { Cell::new(ptr::null()) };
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

impl Local {
    pub(super) fn new(shared: Arc<Shared>, index: usize, queue: Worker<Runnable>) -> Self {
        let random = Cell::new(0x9e37_79b9 ^ (index as u32 + 1).wrapping_mul(0x85eb_ca6b));
        Self {
            shared,
            index,
            queue,
            slot: Cell::new(None),
            slot_is_open: Cell::new(false),
            streak: Cell::new(0),
            runs: Cell::new(0),
            random,
        }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn counters(&self) -> &Counters {
        &self.shared.counters[self.index]
    }

    pub(super) fn spawn<F>(
        &self,
        spawned: &'static Location<'static>,
        future: F,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, handle) = new_task(&self.shared, spawned, future);
        self.counters().spawned.increment();
        self.push(runnable);
        handle
    }

    /// Queues a runnable on this worker.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable) {
        if self.slot_is_open.get() && self.streak.get() < SLOT_STREAK {
            let displaced = self.slot.replace(Some(runnable));
            let Some(displaced) = displaced else { return };
            self.queue.push(displaced);
        } else {
            self.queue.push(runnable);
        }
        self.shared.sleep.notify();
    }

    /// Queues a runnable that this worker has just run. Alone in the queue it is no reason to wake anybody: it is next.
    fn requeue(&self, runnable: Runnable) {
        let alone = self.queue.is_empty();
        self.queue.push(runnable);
        if !alone {
            self.shared.sleep.notify();
        }
    }

    /// The whole life of a worker.
    pub(super) fn main(self) {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(ptr::null()));
            }
        }
        CURRENT.with(|current| current.set(&raw const self));
        let _reset = Reset;
        while !self.shared.is_closed() {
            match self.next() {
                Some(runnable) => self.run(runnable),
                None => self.search(),
            }
        }
        self.discard_queued();
        self.shared.leave(&self);
    }

    fn run(&self, runnable: Runnable) {
        self.counters().polls.increment();
        self.runs.set(self.runs.get().wrapping_add(1));
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
    fn next(&self) -> Option<Runnable> {
        if let Some(runnable) = self.slot.take() {
            self.streak.set(self.streak.get() + 1);
            return Some(runnable);
        }
        self.streak.set(0);
        let injector_first = self.runs.get() % INJECTOR_INTERVAL == 0;
        let injected = if injector_first {
            self.next_injected()
        } else {
            None
        };
        injected
            .or_else(|| self.queue.pop())
            .or_else(|| self.next_injected())
    }

    /// Takes from the injector outside of a search, and tells the others when there is more than this worker runs next.
    fn next_injected(&self) -> Option<Runnable> {
        let injected = self.take_injected()?;
        if !self.queue.is_empty() {
            self.shared.sleep.notify();
        }
        Some(injected)
    }

    fn take_injected(&self) -> Option<Runnable> {
        until_settled(|| self.shared.injector.steal_batch_and_pop(&self.queue))
    }

    fn steal(&self) -> Option<Runnable> {
        let stealers = &self.shared.stealers;
        let start = self.random() as usize % stealers.len();
        let others = |&i: &usize| i != self.index;
        let order = (start..stealers.len()).chain(0..start).filter(others);
        let take =
            |stealer: &Stealer<_>| until_settled(|| stealer.steal_batch_and_pop(&self.queue));
        let stolen = order.map(|i| &stealers[i]).find_map(take)?;
        self.counters().steals.increment();
        Some(stolen)
    }

    /// Looks for work elsewhere, sleeps when there is none, and runs what it finds.
    fn search(&self) {
        let shared = &*self.shared;
        let has_work = || shared.has_work();
        shared.sleep.search();
        let found = loop {
            if let Some(runnable) = self.look_round() {
                break Some(runnable);
            }
            if shared.is_closed() {
                break None;
            }
            if shared
                .sleep
                .sleep(self.index, || shared.has_work() || shared.is_closed())
            {
                self.counters().parks.increment();
            }
        };
        shared.sleep.found(has_work);
        if let Some(runnable) = found {
            self.run(runnable);
        }
    }

    fn look_round(&self) -> Option<Runnable> {
        for round in 0..SEARCH_ROUNDS {
            let found = self.take_injected().or_else(|| self.steal());
            if found.is_some() {
                return found;
            }
            for _ in 0..(1 << round) * 8 {
                hint::spin_loop();
            }
        }
        None
    }

    /// Drops what is queued here, and with it the futures; and what that queues.
    pub(super) fn discard_queued(&self) {
        while let Some(runnable) = self.slot.take().or_else(|| self.queue.pop()) {
            guarded(|| drop(runnable));
        }
    }

    /// A step of Marsaglia's xorshift.
    fn random(&self) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random.set(x);
        x
    }
}

/// Tries again for as long as other workers are in the way.
fn until_settled(mut steal: impl FnMut() -> Steal<Runnable>) -> Option<Runnable> {
    loop {
        match steal() {
            Steal::Success(runnable) => return Some(runnable),
            Steal::Empty => return None,
            Steal::Retry => hint::spin_loop(),
        }
    }
}

/// A task of the executor, not yet queued.
pub(super) fn new_task<F>(
    shared: &Arc<Shared>,
    spawned: &'static Location<'static>,
    future: F,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let remote = Remote::of(shared);
    let schedule = Copied(move |runnable| remote.schedule(runnable));
    Builder::spawned_at(spawned).spawn(|()| Registered::new(future), schedule)
}
