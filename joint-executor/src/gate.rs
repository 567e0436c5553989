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
//! the other.
//!
//! A pusher that is too late drops nothing itself. It is in a wake-up, whose caller may hold any
//! lock, and the drop of the future may take that lock. Unless somebody has taken the runnable
//! already, the pusher starts a thread that disposes of what is queued, and does not wait for it.
//! These threads are few: by then every task that waits has been cancelled, so each of them belongs
//! to a wake-up that had begun before the end. Where no thread can be started, the pusher disposes
//! itself. A spawn that comes after the end pushes nothing: the spawner drops its own future.
//!
//! A thread that disposes takes one runnable after the other, and holds no other runnable and no
//! lock while it drops one, because that drop may wait for any other task. Several threads may
//! dispose at once. Each leaves when it has seen the queues without a runnable, also without one
//! behind a gap (`inbox.rs`), and waits meanwhile for a thread that is between the steps of a push
//! or of a take. If it left before the gap is closed, the thread that closes it would have both
//! runnables, and the drop of the first may wait for that of the second.

use alloc::vec::Vec;

use super::padded::one_each;
use joint_switch::{AtomicUsize, fence, order, recheck, wait_until};

const OPEN: usize = 0;
/// No worker begins another poll.
const CLOSED: usize = 1;
/// No worker is in a poll, so all must leave.
const QUIET: usize = 2;
/// The last worker has left. A runnable that is pushed is disposed of by a thread for that.
const TERMINATED: usize = 3;

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
}

impl Gate {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            phase: AtomicUsize::new(OPEN),
            cancels: AtomicUsize::new(0),
            arrived: one_each(workers, |_| AtomicUsize::new(0)),
            polling: AtomicUsize::new(workers),
            present: AtomicUsize::new(workers),
        }
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // ORDERING: phase_look. Relaxed: a worker that sees it late runs one more task, and a
        // worker that goes to sleep is woken after. A worker that has entered a task in the
        // registry looks after the fence that it has made for that.
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

    /// Claims the cancelling of waiting tasks, in a closed executor. Returns true to one caller,
    /// which must cancel all tasks. The others cancel those that are registered with their worker.
    pub(crate) fn begin_to_cancel(&self) -> bool {
        // ORDERING: cancels. Relaxed: a claim, which publishes nothing.
        self.cancels.swap(1, order!(cancels: Relaxed)) == 0
    }

    /// Records that a worker's last poll is over, or counts as over for the other workers because
    /// it waits for one of them in that poll. Returns whether it was the last one to arrive.
    #[must_use]
    pub(crate) fn arrive(&self, worker: usize) -> bool {
        // ORDERING: arrived. Relaxed: a claim. `polling` publishes what came before.
        let is_new = self.arrived[worker].swap(1, order!(arrived: Relaxed)) == 0;
        // ORDERING: polling. AcqRel: what came before each arrival happens before the last one
        // announces that the executor is quiet.
        let is_last = is_new && self.polling.fetch_sub(1, order!(polling: AcqRel)) == 1;
        if is_last {
            // ORDERING: quiet. Release, with `quiet_look`.
            self.phase.store(QUIET, order!(quiet: Release));
        }
        is_last
    }

    /// Returns whether a worker's last poll is over, or counts as over for the other workers.
    pub(crate) fn has_arrived(&self, worker: usize) -> bool {
        // ORDERING: arrived_look. Relaxed: for a report, which may be out of date.
        self.arrived[worker].load(order!(arrived_look: Relaxed)) != 0
    }

    /// Counts a worker as gone, after it has seen that the executor is quiet. What the other
    /// workers did happens before the call for the last one returns. Returns whether it was that
    /// one.
    #[must_use]
    pub(crate) fn leave(&self) -> bool {
        // ORDERING: leave. AcqRel: what the other workers did is over before the last one cleans
        // up.
        self.present.fetch_sub(1, order!(leave: AcqRel)) == 1
    }

    /// Returns whether the last worker has left, for a caller that has nothing queued yet.
    #[inline]
    pub(crate) fn is_terminated(&self) -> bool {
        // ORDERING: terminated_look. Relaxed: a caller that sees it late queues something, and
        // looks again.
        self.phase.load(order!(terminated_look: Relaxed)) == TERMINATED
    }

    /// Returns whether the last worker has left, so that the caller must have what is queued
    /// [disposed of](dispose_elsewhere). Called after a push and a `SeqCst` fence.
    #[must_use]
    pub(crate) fn is_too_late(&self) -> bool {
        // ORDERING: late_look. Acquire, with `terminate`: what the last worker did before is
        // visible to a pusher that is too late. Against the push it is ordered by the caller's
        // fence.
        // RECHECK: late_again. The last worker left before the push, and looks no more.
        recheck!(late_again: self.phase.load(order!(late_look: Acquire)) == TERMINATED)
    }

    /// Ends the executor: no worker takes from the queues any more. The caller must [`dispose`] of
    /// what is queued.
    pub(crate) fn terminate(&self) {
        // ORDERING: terminate. Release, with `late_look`. Against a push it is ordered by
        // `terminate_fence`.
        self.phase.store(TERMINATED, order!(terminate: Release));
        // ORDERING: terminate_fence. SeqCst, with the fence of each pusher. On this side, before
        // the fence: the phase. After it: the look into the queues. On the pusher's side, before
        // the fence: the push. After it: the look at the phase.
        fence(order!(terminate_fence: SeqCst));
    }
}

/// Has what was pushed too late disposed of, unless somebody has taken it: by a thread that `start`
/// starts, or `here` if it returns false.
pub(crate) fn dispose_elsewhere(
    is_empty: impl FnOnce() -> bool,
    start: impl FnOnce() -> bool,
    here: impl FnOnce(),
) {
    if !is_empty() && !start() {
        here();
    }
}

/// Empties the queues. `dispose_one` takes a runnable and drops it, which may push again, and
/// returns false if it gets none. `is_empty` returns false while a push or a take is under way.
pub(crate) fn dispose(dispose_one: impl Fn() -> bool, is_empty: impl Fn() -> bool) {
    wait_until(|| {
        while dispose_one() {}
        is_empty()
    });
}
