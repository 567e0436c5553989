//! The counts of an executor. Each worker counts by itself, without atomic read-modify-writes, and
//! any thread may read the counts.

use alloc::vec::Vec;

use super::padded::CachePadded;
use joint::task::TaskEnd;
use joint_switch::{AtomicU64, AtomicUsize, order};

/// A count that one thread writes and any thread reads.
#[derive(Debug)]
pub(super) struct Counter(AtomicU64);

impl Default for Counter {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Counter {
    /// Only the one thread that writes the counter may call this.
    #[inline]
    pub(super) fn increment(&self) {
        self.set(self.get() + 1);
    }

    /// Only the one thread that writes the counter may call this.
    #[inline]
    pub(super) fn set(&self, count: u64) {
        // ORDERING: count. Relaxed: the number is for display, and for choices that may be wrong.
        self.0.store(count, order!(count: Relaxed));
    }

    #[inline]
    pub(super) fn get(&self) -> u64 {
        // ORDERING: count_read. Relaxed: as for `count`.
        self.0.load(order!(count_read: Relaxed))
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) spawned: Counter,
    pub(super) polls: Counter,
    pub(super) steals: Counter,
    pub(super) parks: Counter,
    pub(super) wakes: Counter,
    /// The length of the queue of pinned tasks.
    pub(super) pinned: Counter,
    pub(super) finished: Counter,
    pub(super) cancelled: Counter,
    pub(super) panicked: Counter,
    /// Not a count: the polls of all workers when this worker, blocked for a second, last checked
    /// whether any runs tasks.
    pub(super) blocked_at: Counter,
    /// Not a count: the time, by the driver's clock, until which the other workers may leave the
    /// driver to this worker.
    pub(super) visits_until: Counter,
}

impl Counters {
    fn read(&self, queued: usize) -> WorkerMetrics {
        WorkerMetrics {
            polls: self.polls.get(),
            steals: self.steals.get(),
            parks: self.parks.get(),
            wakes: self.wakes.get(),
            queued,
            pinned: self.pinned.get() as usize,
        }
    }
}

/// Counts of what threads other than the workers have done.
pub(super) struct OutsideCounters {
    /// Written by every spawn from another thread.
    spawned: CachePadded<AtomicUsize>,
    /// The tasks that were ready in a first poll there.
    finished: AtomicUsize,
    cancelled: AtomicUsize,
    /// The tasks that panicked in a first poll there, and the cancelled ones whose futures panicked
    /// when they were dropped.
    panicked: AtomicUsize,
}

impl OutsideCounters {
    pub(super) fn new() -> Self {
        Self {
            spawned: CachePadded::new(AtomicUsize::new(0)),
            finished: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            panicked: AtomicUsize::new(0),
        }
    }

    pub(super) fn count_spawn(&self) {
        // ORDERING: spawned. Relaxed: a number for display.
        self.spawned.fetch_add(1, order!(spawned: Relaxed));
    }

    pub(super) fn count_end(&self, how: TaskEnd) {
        let count = match how {
            TaskEnd::Panicked => &self.panicked,
            TaskEnd::Cancelled => &self.cancelled,
            TaskEnd::Finished => &self.finished,
        };
        // ORDERING: ended_outside. Relaxed: a number for display.
        count.fetch_add(1, order!(ended_outside: Relaxed));
    }
}

/// Counts of what an executor has done so far. See [`Executor::metrics`](super::Executor::metrics).
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Tasks spawned.
    pub spawned: u64,
    /// Tasks that ended with an output.
    pub finished: u64,
    /// Tasks whose future was dropped before it was ready.
    pub cancelled: u64,
    /// Tasks that ended with a panic.
    pub panicked: u64,
    /// The counts of each worker.
    pub workers: Vec<WorkerMetrics>,
}

impl Metrics {
    /// `queued` returns the length of a worker's queues.
    pub(super) fn of(
        workers: &[CachePadded<Counters>],
        outside: &OutsideCounters,
        queued: impl Fn(usize) -> usize,
    ) -> Self {
        let sum = |count: fn(&Counters) -> &Counter| -> u64 {
            let counts = workers.iter().map(|counters| count(counters).get());
            counts.sum()
        };
        // ORDERING: finished_read, cancelled_read, panicked_read. Relaxed: numbers for display.
        let finished = outside.finished.load(order!(finished_read: Relaxed));
        let cancelled = outside.cancelled.load(order!(cancelled_read: Relaxed));
        let panicked = outside.panicked.load(order!(panicked_read: Relaxed));
        let each = workers.iter().enumerate();
        Self {
            finished: sum(|counters| &counters.finished) + finished as u64,
            cancelled: sum(|counters| &counters.cancelled) + cancelled as u64,
            panicked: sum(|counters| &counters.panicked) + panicked as u64,
            // Read last, so that the number of live tasks is seldom too small.
            // ORDERING: spawned_read. Relaxed: a number for display.
            spawned: outside.spawned.load(order!(spawned_read: Relaxed)) as u64
                + sum(|counters| &counters.spawned),
            workers: each.map(|(i, counters)| counters.read(queued(i))).collect(),
        }
    }

    /// Returns the number of tasks that have been spawned and have not ended.
    #[doc(alias = "num_alive_tasks")]
    pub fn live(&self) -> u64 {
        // A task whose spawn was not seen may have been seen to end.
        let ended = self.finished + self.cancelled + self.panicked;
        self.spawned.saturating_sub(ended)
    }

    /// Returns the number of runs of tasks, of all workers.
    pub fn polls(&self) -> u64 {
        self.workers.iter().map(|worker| worker.polls).sum()
    }

    /// Returns the number of steals, of all workers.
    pub fn steals(&self) -> u64 {
        self.workers.iter().map(|worker| worker.steals).sum()
    }

    /// Returns how often the workers woke another worker.
    pub fn wakes(&self) -> u64 {
        self.workers.iter().map(|worker| worker.wakes).sum()
    }

    /// Returns how often the workers went to sleep.
    pub fn parks(&self) -> u64 {
        self.workers.iter().map(|worker| worker.parks).sum()
    }
}

/// Counts of what one worker has done so far.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Runs of tasks. A first poll by [`spawn_now`](crate::spawn_now) is a part of its spawner's
    /// run.
    pub polls: u64,
    /// How often it stole tasks from another worker's queue, or a side of another worker's
    /// [`join`](crate::join()).
    pub steals: u64,
    /// How often it went to sleep, either until it was woken, or for a limited time, to watch busy
    /// workers.
    pub parks: u64,
    /// The number of times that it woke another worker for a task that it had queued.
    pub wakes: u64,
    /// The number of tasks in its queues, which other workers can steal.
    pub queued: usize,
    /// The number of tasks that are [pinned](super::TaskBuilder::on_worker) to it and due. Those
    /// that came from other threads and that it has not fetched yet are not counted. It fetches up
    /// to 64 at a time.
    pub pinned: usize,
}
