//! What an executor counts: each worker by itself, without atomic read-modify-writes, and read by
//! anybody.

use alloc::vec::Vec;

use crossbeam_utils::CachePadded;

use crate::{
    sync::{AtomicU64, AtomicUsize, order},
    task::End,
};

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
        self.set(self.get() + 1);
    }

    /// To be called by the one thread that writes it.
    #[inline]
    pub(super) fn set(&self, count: u64) {
        // ORDERING: count. Relaxed: a number for show, and for choices that may be wrong.
        self.0.store(count, order!(count: Relaxed));
    }

    #[inline]
    pub(super) fn get(&self) -> u64 {
        // ORDERING: count_read. Relaxed: as for `count`.
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
    pub(super) wakes: Counter,
    /// The length of the queue of pinned tasks.
    pub(super) pinned: Counter,
    pub(super) finished: Counter,
    pub(super) cancelled: Counter,
    pub(super) panicked: Counter,
    /// No count: until when the others may leave the driver to this worker, by the driver's clock.
    #[cfg_attr(not(feature = "io"), allow(dead_code, reason = "there is no driver"))]
    pub(super) visits_until: Counter,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            spawned: Counter::new(),
            polls: Counter::new(),
            steals: Counter::new(),
            parks: Counter::new(),
            wakes: Counter::new(),
            pinned: Counter::new(),
            finished: Counter::new(),
            cancelled: Counter::new(),
            panicked: Counter::new(),
            visits_until: Counter::new(),
        }
    }

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

/// What threads that are not workers have done, as counts.
pub(super) struct OutsideCounters {
    /// Written by every spawn from another thread.
    spawned: CachePadded<AtomicUsize>,
    cancelled: AtomicUsize,
    /// Of the cancelled tasks, those whose future panicked when it was dropped.
    panicked: AtomicUsize,
}

impl OutsideCounters {
    pub(super) fn new() -> Self {
        Self {
            spawned: CachePadded::new(AtomicUsize::new(0)),
            cancelled: AtomicUsize::new(0),
            panicked: AtomicUsize::new(0),
        }
    }

    pub(super) fn count_spawn(&self) {
        // ORDERING: spawned. Relaxed: a number for show.
        self.spawned.fetch_add(1, order!(spawned: Relaxed));
    }

    pub(super) fn count_end(&self, how: End) {
        let count = match how {
            End::Panic => &self.panicked,
            // Outside of the workers no task is polled.
            End::Cancelled | End::Output => &self.cancelled,
        };
        // ORDERING: ended_outside. Relaxed: a number for show.
        count.fetch_add(1, order!(ended_outside: Relaxed));
    }
}

/// What an executor has done so far, as counts. See
/// [`Executor::metrics`](super::Executor::metrics).
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
    /// Each worker's part.
    pub workers: Vec<WorkerMetrics>,
}

impl Metrics {
    /// `queued` gives the length of a worker's queues.
    pub(super) fn of(
        workers: &[CachePadded<Counters>],
        outside: &OutsideCounters,
        queued: impl Fn(usize) -> usize,
    ) -> Self {
        let sum = |count: fn(&Counters) -> &Counter| -> u64 {
            let counts = workers.iter().map(|counters| count(counters).get());
            counts.sum()
        };
        // ORDERING: cancelled_read, panicked_read. Relaxed: numbers for show.
        let cancelled = outside.cancelled.load(order!(cancelled_read: Relaxed));
        let panicked = outside.panicked.load(order!(panicked_read: Relaxed));
        let ended = [
            sum(|counters| &counters.finished),
            sum(|counters| &counters.cancelled) + cancelled as u64,
            sum(|counters| &counters.panicked) + panicked as u64,
        ];
        // ORDERING: spawned_read. Relaxed: a number for show.
        // Read last, so that what is live seldom comes out too small.
        let spawned = outside.spawned.load(order!(spawned_read: Relaxed));
        let each = workers.iter().enumerate();
        Self {
            spawned: sum(|counters| &counters.spawned) + spawned as u64,
            finished: ended[0],
            cancelled: ended[1],
            panicked: ended[2],
            workers: each.map(|(i, counters)| counters.read(queued(i))).collect(),
        }
    }

    /// Tasks that have been spawned and have not ended.
    pub fn live(&self) -> u64 {
        // What has not been seen to be spawned may have been seen to end.
        let ended = self.finished + self.cancelled + self.panicked;
        self.spawned.saturating_sub(ended)
    }

    /// The polls of all workers.
    pub fn polls(&self) -> u64 {
        self.workers.iter().map(|worker| worker.polls).sum()
    }

    /// The steals of all workers.
    pub fn steals(&self) -> u64 {
        self.workers.iter().map(|worker| worker.steals).sum()
    }

    /// How often workers woke another worker.
    pub fn wakes(&self) -> u64 {
        self.workers.iter().map(|worker| worker.wakes).sum()
    }

    /// How often the workers went to sleep.
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
    /// How often it took tasks from another worker's queue, or a side of another worker's
    /// [`join`](crate::join).
    pub steals: u64,
    /// How often it went to sleep: until somebody wakes it, or for a while, when others are busy
    /// and it looks after their queues.
    pub parks: u64,
    /// How often it woke another worker because of a task that it had queued.
    pub wakes: u64,
    /// Tasks in its queues, which others can steal.
    pub queued: usize,
    /// Tasks that are [pinned](super::TaskBuilder::on_worker) to it and due, but for those from
    /// elsewhere that it has not fetched yet. It fetches up to 64 at a time.
    pub pinned: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_than_the_workers_have_done_is_counted_in() {
        let workers = [(); 2].map(|()| CachePadded::new(Counters::new()));
        for counters in &workers {
            for counter in [&counters.cancelled, &counters.panicked, &counters.parks] {
                counter.increment();
            }
        }
        let outside = OutsideCounters::new();
        outside.count_spawn();
        for how in [End::Cancelled, End::Output, End::Panic] {
            outside.count_end(how);
        }
        let metrics = Metrics::of(&workers, &outside, |worker| 10 + worker);
        assert_eq!((metrics.spawned, metrics.finished), (1, 0));
        assert_eq!((metrics.cancelled, metrics.panicked), (4, 3));
        assert_eq!(metrics.parks(), 2);
        assert_eq!([0, 1].map(|i| metrics.workers[i].queued), [10, 11]);
    }
}
