//! What an executor counts: each worker by itself, without atomic read-modify-writes, and read by anybody.

use alloc::vec::Vec;

use crate::sync::{AtomicU64, order};

/// A count that one thread writes and any thread reads.
#[derive(Debug)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// To be called by the one thread that writes it.
    #[inline]
    pub(super) fn increment(&self) {
        // ORDERING: count_look, count. Relaxed: a number for show, and this thread wrote it last.
        let count = self.0.load(order!(count_look: Relaxed));
        self.0.store(count + 1, order!(count: Relaxed));
    }

    fn get(&self) -> u64 {
        // ORDERING: count_read. Relaxed: a number for show.
        self.0.load(order!(count_read: Relaxed))
    }
}

/// One worker's counters.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) spawned: Counter,
    pub(super) polls: Counter,
    pub(super) steals: Counter,
    pub(super) parks: Counter,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            spawned: Counter::new(),
            polls: Counter::new(),
            steals: Counter::new(),
            parks: Counter::new(),
        }
    }

    pub(super) fn spawned(&self) -> u64 {
        self.spawned.get()
    }

    pub(super) fn read(&self) -> WorkerMetrics {
        WorkerMetrics {
            polls: self.polls.get(),
            steals: self.steals.get(),
            parks: self.parks.get(),
        }
    }
}

/// What an executor has done so far, as counts. See [`Executor::metrics`](super::Executor::metrics).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Tasks spawned.
    pub spawned: u64,
    /// Each worker's part.
    pub workers: Vec<WorkerMetrics>,
}

impl Metrics {
    /// The polls of all workers.
    pub fn polls(&self) -> u64 {
        self.workers.iter().map(|worker| worker.polls).sum()
    }

    /// The steals of all workers.
    pub fn steals(&self) -> u64 {
        self.workers.iter().map(|worker| worker.steals).sum()
    }

    /// How often the workers slept and were woken.
    pub fn parks(&self) -> u64 {
        self.workers.iter().map(|worker| worker.parks).sum()
    }
}

/// What one worker has done so far, as counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Runs of tasks.
    pub polls: u64,
    /// How often it took tasks from another worker's queue.
    pub steals: u64,
    /// How often it slept and was woken. One that sleeps now is not counted yet.
    pub parks: u64,
}
