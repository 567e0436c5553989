//! How far an executor has closed, and how runnables that are pushed too late are disposed of.
//!
//! Once the executor is *closed*, no worker begins another poll. While some worker is still in a
//! poll, the other workers stay and drop what is queued, because the poll may wait for something
//! that one of these futures holds. Once no worker is in a poll, the executor is *quiet*, and the
//! workers leave. The last one to leave *terminates* it.
//!
//! After that no worker takes from the queues any more. A push from another thread races with the
//! last worker, a store-load race as in `sleep.rs`: the pusher pushes, has a fence, and reads the
//! phase; the last worker sets the phase, has a fence, and reads the queues. One of the two sees
//! the other. A pusher that is too late disposes of everything that is queued. It holds a lock for
//! that, so that a chain of tasks that wake each other when they are dropped does not recurse. A
//! thread that does not get the lock leaves the work to the holder, which looks again after it has
//! released the lock: the same race once more.

use alloc::vec::Vec;

use joint_switch::{AtomicUsize, Mutex, fence, order, recheck};

const OPEN: usize = 0;
/// No worker begins another poll.
const CLOSED: usize = 1;
/// No worker is in a poll, so all must leave.
const QUIET: usize = 2;
/// The last worker has left. A thread that pushes a runnable disposes of it.
const TERMINATED: usize = 3;

/// Which waiting tasks a worker must cancel.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancel {
    /// Those that are registered with this worker: another worker cancels, or has cancelled, all
    /// that waited before.
    Own,
    /// The tasks of all workers.
    All,
}

/// Whether a worker was the last one to arrive, or to leave.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    NotLast,
    Last,
}

pub(crate) struct Gate {
    phase: AtomicUsize,
    /// Not 0 once a worker has begun to cancel all waiting tasks.
    cancels: AtomicUsize,
    /// One flag per worker: not 0 once its last poll is over, or need not be awaited.
    arrived: Vec<AtomicUsize>,
    /// The number of workers that have not arrived.
    polling: AtomicUsize,
    /// The number of workers that have not left.
    present: AtomicUsize,
    /// Held by the thread that disposes of late runnables.
    disposer: Mutex<()>,
}

impl Gate {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            phase: AtomicUsize::new(OPEN),
            cancels: AtomicUsize::new(0),
            arrived: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
            polling: AtomicUsize::new(workers),
            present: AtomicUsize::new(workers),
            disposer: Mutex::new(()),
        }
    }

    /// Whether the workers must begin no more polls.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // ORDERING: phase_look. Relaxed: a worker that sees it late runs one more task, and a
        // worker that goes to sleep is woken after.
        self.phase.load(order!(phase_look: Relaxed)) != OPEN
    }

    /// Whether the workers must leave. What all of them did before they arrived happens before a
    /// call that returns true.
    pub(crate) fn is_quiet(&self) -> bool {
        // ORDERING: quiet_look. Acquire, with `quiet`.
        self.phase.load(order!(quiet_look: Acquire)) >= QUIET
    }

    /// Tells the workers to begin no more polls. The caller wakes them all next.
    pub(crate) fn close(&self) {
        // Not a store, because another thread may have closed it before, and the last worker may
        // have gone further.
        // ORDERING: close, closed_before. Relaxed: it publishes nothing, and for sleeping workers
        // the mutex in `Sleep::wake_all` orders it.
        let close = (order!(close: Relaxed), order!(closed_before: Relaxed));
        let _before = self.phase.compare_exchange(OPEN, CLOSED, close.0, close.1);
    }

    /// Claims the cancelling of waiting tasks, in a closed executor. One caller is to cancel all.
    pub(crate) fn begin_to_cancel(&self) -> Cancel {
        // ORDERING: cancels. Relaxed: a claim, which publishes nothing.
        match self.cancels.swap(1, order!(cancels: Relaxed)) {
            0 => Cancel::All,
            _ => Cancel::Own,
        }
    }

    /// Records that a worker's last poll is over, or counts as over for the other workers because
    /// it waits for one of them in that poll.
    pub(crate) fn arrive(&self, worker: usize) -> Counted {
        // ORDERING: arrived. Relaxed: a claim. `polling` publishes what came before.
        match self.arrived[worker].swap(1, order!(arrived: Relaxed)) {
            0 => self.count_arrived(),
            _ => Counted::NotLast,
        }
    }

    /// Returns whether a worker's last poll is over, or counts as over for the other workers.
    pub(crate) fn has_arrived(&self, worker: usize) -> bool {
        // ORDERING: arrived_look. Relaxed: for a report, which may be out of date.
        self.arrived[worker].load(order!(arrived_look: Relaxed)) != 0
    }

    fn count_arrived(&self) -> Counted {
        // ORDERING: polling. AcqRel: what came before each arrival happens before the last one
        // announces that the executor is quiet.
        if self.polling.fetch_sub(1, order!(polling: AcqRel)) != 1 {
            return Counted::NotLast;
        }
        // ORDERING: quiet. Release, with `quiet_look`.
        self.phase.store(QUIET, order!(quiet: Release));
        Counted::Last
    }

    /// Counts a worker as gone, after it has seen that the executor is quiet. What the other
    /// workers did happens before the call for the last one returns.
    pub(crate) fn leave(&self) -> Counted {
        // ORDERING: leave. AcqRel: what the other workers did is over before the last one cleans
        // up.
        match self.present.fetch_sub(1, order!(leave: AcqRel)) {
            1 => Counted::Last,
            _ => Counted::NotLast,
        }
    }

    /// Disposes of the queued runnables if the last worker has left. Called after a push and a
    /// `SeqCst` fence. See [`dispose`](Gate::dispose).
    pub(crate) fn pushed(&self, discard: impl Fn(), is_empty: impl Fn() -> bool) {
        // ORDERING: late_look. Acquire, with `terminate`: what the last worker did before is
        // visible to a pusher that is too late. Against the push it is ordered by the caller's
        // fence.
        // RECHECK: late_again. The last worker left before the push, and looks no more.
        if recheck!(late_again: self.phase.load(order!(late_look: Acquire)) == TERMINATED) {
            self.dispose(discard, is_empty);
        }
    }

    /// Ends the executor: no worker takes from the queues any more. Disposes of the queued
    /// runnables. See [`dispose`](Gate::dispose).
    pub(crate) fn terminate(&self, discard: impl Fn(), is_empty: impl Fn() -> bool) {
        // ORDERING: terminate. Release, with `late_look`. Against a push it is ordered by
        // `dispose_fence`, of this thread or of a thread that holds the lock because it has seen
        // this.
        self.phase.store(TERMINATED, order!(terminate: Release));
        self.dispose(discard, is_empty);
    }

    /// Empties the queues by `discard`, which may push again, until they are empty or another
    /// thread has taken over.
    pub(crate) fn dispose(&self, discard: impl Fn(), is_empty: impl Fn() -> bool) {
        loop {
            let Ok(guard) = self.disposer.try_lock() else {
                return;
            };
            discard();
            drop(guard);
            // ORDERING: dispose_fence. SeqCst, with the fence of each pusher. On this side, before
            // the fence: the phase is set, or was seen to be set, and the lock is released. After
            // it: the look into the queues. On the pusher's side, before the fence: the push. After
            // it: the look at the phase, and the attempt at the lock.
            fence(order!(dispose_fence: SeqCst));
            // RECHECK: dispose_again. A push whose attempt at the lock came before the release.
            if !recheck!(dispose_again: !is_empty()) {
                return;
            }
        }
    }
}
