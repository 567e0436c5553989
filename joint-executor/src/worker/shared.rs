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
use core::ptr::NonNull;
use std::sync::Once;

use crossbeam_utils::CachePadded;

use super::{Running, Worker, closing::in_hand, current, dispose};
use crate::{
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
    policy::{MOST_FORKS, NEAR_THE_DRIVER, WORTH_A_WAKE},
    process::Process,
    registry::{self, Lane, Registry, RegistryOwner},
    sleep::{Need, Sleep, Woke},
    threads::Threads,
};
use joint::{
    task::{EndedTask, PendingTask, Schedule, ScheduleInfo, TaskEnd},
    waker::Family,
};
use joint_switch::{AtomicUsize, Mutex, MutexGuard, fence, order};

/// The metadata of each of the executor's tasks.
pub(crate) type EntryLink = registry::EntryLink<Shared>;
/// The right and the duty to run one of the executor's tasks once.
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
    /// The report that every worker is blocked.
    pub(super) starved: Once,
}

impl Shared {
    /// Makes what the workers of an executor share, and the workers. `fences` are those among the
    /// workers.
    pub(crate) fn with_workers(
        workers: usize,
        fences: Fences,
        hooks: Hooks,
        decides: Decides,
    ) -> (Arc<Self>, Vec<Worker>) {
        let deques: Vec<_> = (0..workers).map(|_| Deques::new(fences)).collect();
        let driver = Arc::new(Driver::new(workers));
        let shared = Arc::new_cyclic(|this| Self {
            this: this.clone(),
            injector: CachePadded::new(Inbox::new()),
            high_injector: CachePadded::new(Inbox::new()),
            stealers: deques.iter().map(Deques::stealer).collect(),
            inboxes: (0..workers)
                .map(|_| CachePadded::new(Inbox::new()))
                .collect(),
            forks: (0..workers)
                .map(|_| CachePadded::new(Forks::new(MOST_FORKS, fences)))
                .collect(),
            sleep: {
                let driver = driver.clone();
                Sleep::new(workers, fences, move || driver.ring())
            },
            driver,
            registry: Registry::new(workers, fences),
            counters: (0..workers).map(|_| CachePadded::default()).collect(),
            outside: OutsideCounters::new(),
            // An owner keeps the order of what is queued, by the slower way of a spawn.
            watches_tasks: decides == Decides::Owner || hooks.watch_tasks(),
            hooks,
            poll_time: CachePadded::new(AtomicUsize::new(0)),
            gate: Gate::new(workers),
            process: Process::current(),
            decides,
            threads: Mutex::default(),
            calls: Calls::new(),
            starved: Once::new(),
        });
        let worker = |(index, deques)| Worker::new(shared.clone(), index, deques);
        let all = deques.into_iter().enumerate().map(worker).collect();
        (shared, all)
    }

    pub(crate) fn workers(&self) -> usize {
        self.inboxes.len()
    }

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
        self.sleep
            .awake()
            .for_each(|worker| self.stealers[worker].meet());
        has(self)
    }

    /// Whether there is a task in any queue that all workers serve, or a stranger to wake.
    pub(crate) fn has_queued(&self) -> bool {
        let is_queued = self.stealers.iter().any(|stealer| !stealer.is_empty());
        is_queued || self.has_injected() || self.driver.has_due()
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

    /// Returns whether a queued task is worth waking another worker to run it.
    #[inline]
    pub(crate) fn is_worth_a_wake(&self) -> bool {
        self.poll_time() >= WORTH_A_WAKE
    }

    /// Returns the need of a task that has just been queued.
    #[inline]
    pub(super) fn need(&self) -> Need {
        match self.is_worth_a_wake() {
            true => Need::Hands,
            false => Need::Lookout,
        }
    }

    /// Whether a worker that begins a poll is likely to leave the driver for so long that waking
    /// another worker is worth it.
    pub(crate) fn keeps_the_driver_waiting(&self) -> bool {
        self.poll_time() as u64 >= NEAR_THE_DRIVER
    }

    /// Whether the workers must begin no more polls.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.gate.is_closed()
    }

    /// Queues a runnable from a thread that is not a worker of this executor.
    pub(crate) fn inject(&self, runnable: Runnable, lane: Lane) {
        let inbox = match lane {
            Lane::Normal => &self.injector,
            Lane::High => &self.high_injector,
            Lane::Pinned(worker) => &self.inboxes[worker],
        };
        inbox.push(runnable);
        let woke = match lane {
            Lane::Normal | Lane::High => self.sleep.notify_from_outside(self.need()),
            Lane::Pinned(worker) => self.sleep.wake_worker(worker),
        };
        // `notify_from_outside` and `wake_worker` have the fence.
        if self.gate.is_too_late() {
            self.dispose_late();
        }
        if !matches!(woke, Woke::Nobody) {
            reach(woke);
        }
        if self.hooks.on_push.is_some() {
            current::stranger(|| self.hooks.pushed());
        }
    }

    /// Call this after `deadline` becomes the earliest of the timers that this thread uses. It
    /// makes sure that some worker wakes up in time. `worker` is the worker that this thread is, if
    /// any.
    pub(crate) fn hurry_driver(&self, deadline: u64, worker: Option<&Running<'_>>) {
        self.driver.hurry(deadline, &self.sleep, || match worker {
            Some(worker) if worker.leaves_driver() => worker.notify(),
            Some(_) => {}
            None => {
                reach(self.sleep.notify_from_outside(Need::Lookout));
            }
        });
    }

    /// Queues a task that was woken, after the hook for that.
    #[cold]
    fn inject_watched(&self, runnable: Runnable, lane: Lane) {
        let hook = || current::stranger(|| Hooks::task(&self.hooks.on_wake, &runnable));
        match in_hand(self, lane, hook) {
            true => dispose(self, runnable),
            false => self.inject(runnable, lane),
        }
    }

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics::of(&self.counters, &self.outside, |i| self.stealers[i].len())
    }
}

/// Wakes the worker that a thread outside has to wake, if its thread is away.
#[cold]
fn reach(woke: Woke) {
    if let Some(waker) = woke.away() {
        current::stranger(|| waker.wake());
    }
}

impl RegistryOwner for Shared {
    fn registry(&self) -> &Registry<Self> {
        &self.registry
    }
}

/// The tasks' schedule functions. It finds the executor by the task's [`EntryLink`], and takes no
/// memory.
#[derive(Clone, Copy)]
pub(crate) struct Scheduler;

/// The family of the executor's tasks: to wake one of them runs no code of a stranger.
pub(super) static FAMILY: Family = Family::new();

impl Schedule<EntryLink> for Scheduler {
    const FAMILY: Option<&'static Family> = Some(&FAMILY);

    /// Queues a task that was idle and is therefore registered: on the worker that this thread is,
    /// or else in a queue that other threads can push to.
    #[inline]
    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        // ORDERING: woken. Acquire, with the state word's `idle` through the wake-up: the place is
        // as the runner has set it.
        fence(order!(woken: Acquire));
        let home = runnable.metadata().home();
        let (owner, place) = home.expect("a task that has been idle is registered");
        current::with_worker_of(owner, |worker| match worker {
            Some(worker) => {
                let runnable = match worker.watches_wakes {
                    true => worker.woken(runnable),
                    false => runnable,
                };
                worker.push(runnable, place.lane());
            }
            None => {
                // SAFETY: this is the address inside an `Arc`. There is a runnable, so the task is
                // unfinished and registered, which keeps the executor alive until the push.
                unsafe { Arc::increment_strong_count(owner) };
                // SAFETY: the count is the one that was just added.
                let shared = unsafe { Arc::from_raw(owner) };
                match shared.hooks.watch_wakes() {
                    true => shared.inject_watched(runnable, place.lane()),
                    false => shared.inject(runnable, place.lane()),
                }
            }
        });
    }

    #[inline]
    fn pending(&self, task: &PendingTask<'_, EntryLink>) {
        if !task.metadata().is_entered() && !task.is_woken() {
            current::with_current(|worker| {
                let worker = worker.expect("only workers run the executor's tasks");
                // SAFETY: the runner has lent the task, which is not in any registry yet.
                unsafe { worker.enter(task.as_ptr(), task.metadata()) };
            });
        }
    }

    #[inline]
    fn ended(&self, task: &EndedTask<'_, EntryLink>, how: TaskEnd) {
        super::ended(task, how);
        let worker =
            |shared| current::with_worker_of(shared, |worker| worker.map(|worker| worker.index()));
        // Last, because this task may be what has kept the executor alive.
        // SAFETY: the runner calls this, and the task's future is gone.
        unsafe { Registry::strike_off(task, worker) };
    }
}

impl Running<'_> {
    /// Enters a task in the registry. Not inlined, because most runs end with a task that is
    /// entered already, or that has been woken.
    ///
    /// # Safety
    /// The caller is this worker, and the task's runner or its spawner. The task has this link, and
    /// is not in any registry yet.
    #[inline(never)]
    pub(super) unsafe fn enter(&self, task: NonNull<()>, link: &EntryLink) {
        // SAFETY: by this function's contract.
        unsafe { Registry::enter(self.shared(), task, link, self.index()) };
    }
}

#[cfg(test)]
mod tests {
    use super::NEAR_THE_DRIVER;
    use crate::{
        registry::Lane,
        worker::harness::{task, two_workers},
    };

    #[test]
    fn one_task_in_any_queue_that_all_serve_is_work() {
        let [worker, _other] = two_workers();
        let shared = worker.shared();
        let has_work = || (shared.has_work(), shared.has_injected());
        assert_eq!(has_work(), (false, false));
        for lane in [Lane::Normal, Lane::High] {
            worker.running().push(task(), lane);
            assert_eq!(has_work(), (true, false));
            worker.running().discard_queued();
            shared.inject(task(), lane);
            assert_eq!(has_work(), (true, true));
            assert!(worker.take_injected().is_some());
            assert_eq!(has_work(), (false, false));
        }
        worker.running().push_spawned(task());
        assert_eq!(has_work(), (true, false));
        worker.running().discard_queued();
        worker.running().push(task(), Lane::Pinned(0));
        assert_eq!(has_work(), (false, false), "its own queue does not count");
    }

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

    #[test]
    fn polls_of_the_threshold_length_keep_the_driver_waiting() {
        for (time, keeps) in [
            (NEAR_THE_DRIVER as usize - 1, false),
            (NEAR_THE_DRIVER as usize, true),
        ] {
            let [worker, _other] = two_workers();
            worker.shared().set_poll_time(time);
            assert_eq!(worker.shared().keeps_the_driver_waiting(), keeps);
        }
    }
}
