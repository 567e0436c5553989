//! Data shared by the workers of an executor: the injectors, the stealers, the sleep protocol, the
//! registry, the counters.
//!
//! # What keeps it alive
//! Its workers keep it alive, and after them every task that is left in the [`registry`]. Wakers
//! reach it through a bare address ([`EntryLink::home`]). That is sound because a task is only
//! scheduled while it is unfinished and idle, and an unfinished task is
//!
//! 1. new, and in the hands of a worker or of an [`Executor`](crate::Executor), or in a queue, and
//!    the last worker to leave empties all of these; or
//! 2. being polled, by a worker; or
//! 3. registered.
//!
//! A waking thread that is not a worker adds a count to the `Arc` before the push, and keeps it
//! until it has woken a worker.

use alloc::{
    sync::{Arc, Weak},
    vec::Vec,
};
use core::{mem, time::Duration};
use std::sync::{Once, OnceLock};

use crate::{
    blocking_pool::Pool,
    calls::Calls,
    deques::{Deques, Stealer},
    driver::Driver,
    fences::Fences,
    fork_join::Forks,
    gate::Gate,
    guard::lock,
    hooks::Hooks,
    inbox::Inbox,
    metrics::{Counters, Metrics, OutsideCounters},
    padded::{CachePadded, one_each},
    policy::{MANY, SOON, WORTH_A_WAKE},
    process::Process,
    registry::{self, Registry, RegistryOwner},
    sleep::{Need, Sleep},
    threads::Threads,
};
use joint::waker::Family;
use joint_switch::{AtomicUsize, Mutex, MutexGuard, order};

pub(crate) type EntryLink = registry::EntryLink<Shared>;
/// Metadata that begins with an [`EntryLink`].
///
/// # Safety
/// It begins so as [`from_raw`](joint::task::Runnable::from_raw) demands.
pub(crate) unsafe trait Linked {
    fn link(&self) -> &EntryLink;
}

// SAFETY: it is one.
unsafe impl Linked for EntryLink {
    #[inline]
    fn link(&self) -> &EntryLink {
        self
    }
}

pub(crate) type Runnable = registry::Runnable<Shared>;

/// Who decides which task a worker runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// The workers, by the scheduling policy.
    Workers,
    /// Their owner, who takes all that is queued, in the order in which it was queued.
    Owner,
}

/// Tasks that other threads queue for any worker.
pub(super) type Injector = CachePadded<Inbox<EntryLink>>;

pub(crate) struct Shared {
    /// For a thread that the executor starts at its end.
    pub(super) this: Weak<Self>,
    pub(super) injector: Injector,
    /// The injector of the tasks of high priority.
    pub(super) high_injector: Injector,
    /// The other workers' access to the queues of each worker.
    pub(super) stealers: Vec<Stealer<Runnable>>,
    /// One inbox per worker, for pinned tasks that other threads queue.
    pub(super) inboxes: Vec<CachePadded<Inbox<EntryLink>>>,
    /// The forks of each worker, which other workers may take.
    pub(super) forks: Vec<CachePadded<Forks>>,
    pub(super) sleep: Sleep,
    pub(crate) driver: Arc<Driver>,
    pub(crate) registry: Registry<Self>,
    pub(super) counters: Vec<CachePadded<Counters>>,
    pub(super) outside: OutsideCounters,
    pub(crate) hooks: Hooks,
    /// Whether there is something to do for each task, such as a hook.
    pub(super) watches_tasks: bool,
    /// The mean length of recent polls, in nanoseconds.
    poll_time: CachePadded<AtomicUsize>,
    pub(crate) gate: Gate,
    /// The process that the workers are in, which is not the child of a fork.
    pub(crate) process: Process,
    pub(super) decides: Decides,
    threads: Mutex<Threads>,
    /// The functions of `spawn_blocking` that the executor's code has started.
    pub(crate) calls: Calls,
    /// The threads for these functions, if they are not those of the whole process.
    pub(crate) own_pool: OnceLock<Arc<Pool>>,
    /// The report that every worker is blocked.
    pub(super) starved: Once,
}

impl Shared {
    #[inline(never)]
    pub(super) fn new(
        deques: &[Deques<Runnable>],
        fences: Fences,
        hooks: &mut Hooks,
        decides: Decides,
    ) -> Arc<Self> {
        let workers = deques.len();
        let driver = Arc::new(Driver::new(workers));
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            injector: CachePadded::new(Inbox::new()),
            high_injector: CachePadded::new(Inbox::new()),
            stealers: one_each(workers, |worker| deques[worker].stealer()),
            inboxes: one_each(workers, |_| CachePadded::new(Inbox::new())),
            forks: one_each(workers, |_| CachePadded::new(Forks::new(MANY, fences))),
            sleep: {
                let driver = driver.clone();
                Sleep::new(workers, fences, move || driver.ring())
            },
            driver,
            registry: Registry::new(workers, fences),
            counters: one_each(workers, |_| CachePadded::default()),
            outside: OutsideCounters::default(),
            // An owner keeps the order of what is queued, by the slower way of a spawn.
            watches_tasks: decides == Decides::Owner || hooks.watch_tasks(),
            hooks: mem::take(hooks),
            poll_time: CachePadded::new(AtomicUsize::new(0)),
            gate: Gate::new(workers),
            process: Process::current(),
            decides,
            threads: Mutex::default(),
            calls: Calls::new(),
            own_pool: OnceLock::new(),
            starved: Once::new(),
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.inboxes.len()
    }

    #[inline(never)]
    pub(crate) fn threads(&self) -> MutexGuard<'_, Threads> {
        lock(&self.threads)
    }

    /// Returns whether there is something to run in any queue that all workers serve, or a side of
    /// a join that another worker could take.
    pub(crate) fn has_work(&self) -> bool {
        self.has_queued() || self.forks.iter().any(|forks| forks.oldest().is_some())
    }

    /// Returns what `has` sees, to a worker that was the last lookout (`sleep.rs`).
    pub(crate) fn last_look(&self, has: impl FnOnce(&Self) -> bool) -> bool {
        for worker in self.sleep.awake() {
            self.stealers[worker].meet();
        }
        has(self)
    }

    /// Whether there is a task in any queue that all workers serve, or a stranger to wake.
    pub(crate) fn has_queued(&self) -> bool {
        let is_queued = self.stealers.iter().any(|stealer| !stealer.is_empty());
        is_queued || self.has_injected() || !self.driver.due().is_empty()
    }

    pub(crate) fn has_injected(&self) -> bool {
        !self.injector.is_empty() || !self.high_injector.is_empty()
    }

    /// Returns the mean length of recent polls, in nanoseconds: a hint.
    #[inline]
    pub(crate) fn poll_time(&self) -> usize {
        // ORDERING: poll_time_look. Relaxed: a hint.
        self.poll_time.load(order!(poll_time_look: Relaxed))
    }

    pub(crate) fn set_poll_time(&self, nanos: usize) {
        // Written seldom, because each push reads it.
        let before = self.poll_time();
        if nanos.abs_diff(before) > before / 8 {
            // ORDERING: poll_time. Relaxed: a hint.
            self.poll_time.store(nanos, order!(poll_time: Relaxed));
        }
    }

    /// Returns the need of a task that has just been queued.
    #[inline]
    pub(super) fn need(&self) -> Need {
        match self.poll_time() >= WORTH_A_WAKE {
            true => Need::Hands,
            false => Need::Lookout,
        }
    }

    /// Whether a worker that is active or becomes so should leave the driver to another one, which
    /// has to be woken for it.
    pub(super) fn leaves_driver(&self) -> bool {
        let is_left = self.driver.is_used() && !self.driver.is_kept();
        // Its next poll is likely to last so long that waking another one is worth it.
        let is_long = || Duration::from_nanos(self.poll_time() as u64) >= SOON;
        is_left && (is_long() || self.sleep.lookouts() == 0)
    }

    /// Whether the workers must begin no more polls.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.gate.is_closed()
    }

    /// Whether nothing is left in the injectors and inboxes.
    pub(super) fn has_none_injected(&self) -> bool {
        self.high_injector.is_drained()
            && self.injector.is_drained()
            && self.inboxes.iter().all(|inbox| inbox.is_drained())
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

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics::of(&self.counters, &self.outside, |i| self.stealers[i].len())
    }
}

impl RegistryOwner for Shared {
    fn registry(&self) -> &Registry<Self> {
        &self.registry
    }
}

/// The family of the executor's tasks: to wake one of them runs no code of a stranger.
pub(super) static FAMILY: Family = Family::new();

#[cfg(test)]
mod tests {
    use crate::worker::harness::two_workers;

    #[test]
    fn a_time_of_a_poll_that_differs_little_is_not_written() {
        let [worker, _other] = two_workers();
        let time = |nanos| {
            worker.shared().set_poll_time(nanos);
            worker.shared().poll_time()
        };
        assert_eq!(time(80), 80);
        assert_eq!(time(90), 80, "the average moves by an eighth");
        assert_eq!(time(70), 80);
        assert_eq!(time(91), 91);
        assert_eq!(time(79), 79);
    }
}
