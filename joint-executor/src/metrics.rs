//! The counts of an executor. Each thread counts by itself, without atomic read-modify-writes, and
//! any thread may read the counts.

use alloc::{
    sync::{Arc, Weak},
    vec::Vec,
};
use core::{
    cell::{Cell, RefCell},
    ptr,
};

use super::padded::{CachePadded, one_each};
use joint::task::TaskEnd;
use joint_switch::{AtomicU64, Mutex, order, thread_local};

/// A count that one thread sets and increments, and any thread reads.
#[derive(Debug)]
pub(super) struct Counter(AtomicU64);

impl Default for Counter {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Counter {
    #[inline]
    pub(super) fn increment(&self) {
        self.set(self.get() + 1);
    }

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
    /// Returns the count of the tasks that have ended so.
    #[inline]
    pub(super) fn ends(&self, how: TaskEnd) -> &Counter {
        match how {
            TaskEnd::Finished => &self.finished,
            TaskEnd::Panicked => &self.panicked,
            TaskEnd::Cancelled => &self.cancelled,
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

/// Counts of what threads other than the workers have done: of the tasks that they have spawned,
/// and of those that have ended there. Each of them has counters of its own too, as long as it
/// lives.
#[derive(Debug, Default)]
pub(super) struct OutsideCounters(Arc<Mutex<Threads>>);

type Own = Arc<CachePadded<Counters>>;

#[derive(Debug, Default)]
struct Threads {
    all: Vec<Own>,
    /// Those whose threads have ended. The next thread counts on with them.
    free: Vec<Own>,
}

impl Threads {
    /// Adds up one count of these and of all workers.
    #[inline(never)]
    fn sum(&self, workers: &[CachePadded<Counters>], count: fn(&Counters) -> &Counter) -> u64 {
        let mut sum = 0;
        for counters in workers {
            sum += count(counters).get();
        }
        for counters in &self.all {
            sum += count(counters).get();
        }
        sum
    }
}

/// The counters that a thread has in one executor.
struct Lent {
    from: Weak<Mutex<Threads>>,
    counters: Own,
}

impl Drop for Lent {
    fn drop(&mut self) {
        _ = LAST.try_with(|last| last.set(NONE));
        if let Some(threads) = self.from.upgrade() {
            threads.lock().unwrap().free.push(self.counters.clone());
        }
    }
}

type Last = (*const Mutex<Threads>, *const Counters);
const NONE: Last = (ptr::null(), ptr::null());

thread_local! {
    /// The counters of this thread, of each executor that it has used.
    static LENT: RefCell<Vec<Lent>> = const { RefCell::new(Vec::new()) };
    /// Those of them that were used last, and where they are from.
    static LAST: Cell<Last> = const { Cell::new(NONE) };
}

impl OutsideCounters {
    #[inline]
    pub(super) fn count_spawn(&self) {
        self.count(|counters| &counters.spawned);
    }

    #[inline]
    pub(super) fn count_end(&self, how: TaskEnd) {
        self.count(|counters| counters.ends(how));
    }

    #[inline]
    fn count(&self, count: impl Fn(&Counters) -> &Counter) {
        let (from, counters) = LAST.try_with(Cell::get).unwrap_or(NONE);
        match ptr::eq(from, Arc::as_ptr(&self.0)) {
            // SAFETY: the thread still has them: `Lent::drop` clears `LAST` before it gives them
            // back. Until then the `Weak` keeps another executor from having that address.
            true => count(unsafe { &*counters }).increment(),
            false => self.count_otherwise(&count),
        }
    }

    #[cold]
    fn count_otherwise(&self, count: &dyn Fn(&Counters) -> &Counter) {
        let counted = LENT.try_with(|all| {
            let mut all = all.borrow_mut();
            let is_own = |lent: &Lent| ptr::eq(lent.from.as_ptr(), Arc::as_ptr(&self.0));
            let at = all.iter().position(is_own).unwrap_or_else(|| {
                all.retain(|lent| lent.from.strong_count() > 0);
                all.push(self.lend());
                all.len() - 1
            });
            let own = &all[at];
            count(&own.counters).increment();
            let last = (own.from.as_ptr(), &raw const **own.counters);
            _ = LAST.try_with(|cell| cell.set(last));
        });
        if counted.is_err() {
            // The thread's locals are destroyed, so it has counters for this moment.
            count(&self.lend().counters).increment();
        }
    }

    fn lend(&self) -> Lent {
        let mut threads = self.0.lock().unwrap();
        let counters = threads.free.pop().unwrap_or_else(|| {
            let counters = Own::default();
            threads.all.push(counters.clone());
            counters
        });
        Lent {
            from: Arc::downgrade(&self.0),
            counters,
        }
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
        let threads = outside.0.lock().unwrap();
        let sum = |count| threads.sum(workers, count);
        Self {
            finished: sum(|counters| &counters.finished),
            cancelled: sum(|counters| &counters.cancelled),
            panicked: sum(|counters| &counters.panicked),
            // Read last, so that the number of live tasks is seldom too small.
            spawned: sum(|counters| &counters.spawned),
            workers: one_each(workers.len(), |i| workers[i].read(queued(i))),
        }
    }

    /// Returns the number of tasks that have been spawned and have not ended.
    #[doc(alias = "num_alive_tasks")]
    pub fn live(&self) -> u64 {
        // A task whose spawn was not seen may have been seen to end.
        let ended = self.finished + self.cancelled + self.panicked;
        self.spawned.saturating_sub(ended)
    }

    fn total(&self, count: fn(&WorkerMetrics) -> u64) -> u64 {
        self.workers.iter().map(count).sum()
    }

    /// Returns the number of runs of tasks, of all workers.
    pub fn polls(&self) -> u64 {
        self.total(|worker| worker.polls)
    }

    /// Returns the number of steals, of all workers.
    pub fn steals(&self) -> u64 {
        self.total(|worker| worker.steals)
    }

    /// Returns how often the workers woke another worker.
    pub fn wakes(&self) -> u64 {
        self.total(|worker| worker.wakes)
    }

    /// Returns how often the workers went to sleep.
    pub fn parks(&self) -> u64 {
        self.total(|worker| worker.parks)
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
    /// to 32 at a time.
    pub pinned: usize,
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::OutsideCounters;

    #[test]
    fn a_thread_counts_on_with_the_counters_of_one_that_has_ended() {
        let outside = OutsideCounters::default();
        for _ in 0..10 {
            thread::scope(|scope| scope.spawn(|| outside.count_spawn()).join().unwrap());
        }
        let threads = outside.0.lock().unwrap();
        let counts = threads.all.iter().map(|counters| counters.spawned.get());
        assert!(counts.eq([10]));
    }
}
