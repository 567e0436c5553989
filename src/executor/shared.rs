//! What an executor's workers share: the injector, the ways to steal, the sleep protocol, the register, the counters.
//!
//! # Who keeps it alive
//! Its workers, and every task that has been pending once ([`registry`](super::registry)). Wakers reach it through a bare address
//! ([`Remote`]), which is good because a task is only scheduled while it is unfinished, and an unfinished task is
//!
//! 1. new, and in the hands of a worker or of an [`Executor`](super::Executor), or in a queue, all of which the last worker to
//!    leave empties; or
//! 2. being polled, by a worker; or
//! 3. registered.

use alloc::{sync::Arc, vec::Vec};
use core::task::Waker;

use crossbeam_deque::{Injector, Steal, Stealer};
use crossbeam_utils::CachePadded;

use super::{
    metrics::Counters,
    registry::Registry,
    sleep::Sleep,
    worker::{self, Local},
};
use crate::{
    sync::{AtomicUsize, Mutex, fence, order},
    task::Runnable,
};

const OPEN: usize = 0;
/// The workers are to leave.
const CLOSED: usize = 1;
/// The last worker has left: whoever brings a runnable now disposes of it.
const TERMINATED: usize = 2;

pub(super) struct Shared {
    pub(super) injector: Injector<Runnable>,
    pub(super) stealers: Vec<Stealer<Runnable>>,
    pub(super) sleep: Sleep,
    pub(super) registry: Registry,
    pub(super) counters: Vec<CachePadded<Counters>>,
    /// Spawns from outside of the workers.
    pub(super) spawned_outside: CachePadded<AtomicUsize>,
    phase: AtomicUsize,
    /// Workers that have not left.
    present: AtomicUsize,
    /// Held by whoever disposes of late runnables, one at a time, so that a chain of tasks that wake each other when they
    /// are dropped does not recurse.
    disposer: Mutex<()>,
}

impl Shared {
    pub(super) fn new(stealers: Vec<Stealer<Runnable>>) -> Self {
        let workers = stealers.len();
        Self {
            injector: Injector::new(),
            stealers,
            sleep: Sleep::new(workers),
            registry: Registry::new(workers),
            counters: (0..workers)
                .map(|_| CachePadded::new(Counters::new()))
                .collect(),
            spawned_outside: CachePadded::new(AtomicUsize::new(0)),
            phase: AtomicUsize::new(OPEN),
            present: AtomicUsize::new(workers),
            disposer: Mutex::new(()),
        }
    }

    /// Whether there is something to run in any queue.
    pub(super) fn has_work(&self) -> bool {
        !self.injector.is_empty() || self.stealers.iter().any(|stealer| !stealer.is_empty())
    }

    /// Whether the workers are to leave.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: phase_look. Relaxed: a worker that sees it late runs one more task; one that goes to sleep is woken after.
        self.phase.load(order!(phase_look: Relaxed)) != OPEN
    }

    /// Tells the workers to leave.
    pub(super) fn close(&self) {
        // ORDERING: close. Relaxed: ordered by the mutex in `wake_all`.
        self.phase.store(CLOSED, order!(close: Relaxed));
        self.sleep.wake_all();
    }

    /// Queues a runnable that comes from outside of the workers.
    pub(super) fn inject(&self, runnable: Runnable) {
        self.injector.push(runnable);
        self.sleep.notify();
        // ORDERING: late_look. Relaxed: ordered by the fence in `notify`, between the push and this look; `terminate` has its
        // fence between setting the phase and its last look into the queue. One of the two sees the other.
        if self.phase.load(order!(late_look: Relaxed)) == TERMINATED {
            self.dispose();
        }
    }

    /// Counts workers that were never started as gone.
    pub(super) fn never_came(&self, workers: usize) {
        // ORDERING: never_came. Relaxed: they have done nothing that anybody has to see.
        self.present.fetch_sub(workers, order!(never_came: Relaxed));
    }

    /// A worker leaves, with its own queue empty. The last one cancels all that is left.
    pub(super) fn leave(&self, local: &Local) {
        // ORDERING: leave. AcqRel: what the others did as workers is over before the last one cleans up.
        if self.present.fetch_sub(1, order!(leave: AcqRel)) != 1 {
            return;
        }
        loop {
            local.discard_queued();
            self.dispose();
            let waiting = self.registry.take_all();
            if waiting.is_empty() {
                break;
            }
            // Woken, they are queued here, and discarded in the next round.
            waiting.into_iter().for_each(Waker::wake);
        }
        // ORDERING: terminate. Relaxed: ordered by the fence.
        self.phase.store(TERMINATED, order!(terminate: Relaxed));
        // ORDERING: terminate_fence. SeqCst: see `inject`.
        fence(order!(terminate_fence: SeqCst));
        self.dispose();
        local.discard_queued();
    }

    /// Drops what is in the injector, and with it the futures.
    fn dispose(&self) {
        loop {
            // Whoever holds it looks into the queue again after giving it up.
            let Ok(guard) = self.disposer.try_lock() else {
                return;
            };
            loop {
                match self.injector.steal() {
                    Steal::Success(runnable) => worker::guarded(|| drop(runnable)),
                    Steal::Retry => {}
                    Steal::Empty => break,
                }
            }
            drop(guard);
            // ORDERING: dispose_fence. SeqCst: giving up the lock against this look; the other side pushes, has the fence of
            // `notify`, and then tries the lock.
            fence(order!(dispose_fence: SeqCst));
            if self.injector.is_empty() {
                return;
            }
        }
    }
}

/// An executor's address in its tasks' schedule functions.
#[derive(Clone, Copy)]
pub(super) struct Remote(*const Shared);

// SAFETY: `Shared` is shared between threads; see the module for why it is alive.
unsafe impl Send for Remote {}
// SAFETY: as for `Send`.
unsafe impl Sync for Remote {}

impl Remote {
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::as_ptr(shared))
    }

    /// Queues a runnable of this executor: at the worker that this thread is, or else in the injector.
    #[inline]
    pub(super) fn schedule(self, runnable: Runnable) {
        worker::with_current(|local| match local {
            Some(local) if core::ptr::eq(&**local.shared(), self.0) => local.push(runnable),
            _ => self.inject(runnable),
        });
    }

    fn inject(self, runnable: Runnable) {
        // SAFETY: the address is that of an `Arc`'s content. There is a runnable, so the task is unfinished, and what keeps an
        // unfinished task's executor alive does so until the push, at least.
        unsafe { Arc::increment_strong_count(self.0) };
        // SAFETY: as above; the count that was just added is taken over. From the push on it is what keeps `Shared` alive.
        let shared = unsafe { Arc::from_raw(self.0) };
        shared.inject(runnable);
    }
}
