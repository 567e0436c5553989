//! The thread parker, and [`block_on`] on top of it: how a thread without an executor waits for a
//! future. [`rest`] has the rule by which every blocking wait of the crate puts its thread to
//! sleep.
//!
//! A parker is an object with a waker [`Header`], so that a blocking wait registers itself without
//! allocating. Each thread keeps one parker for its next wait. A `block_on` inside a `block_on`
//! takes another, because the inner one must not use up a wake-up that is meant for the outer
//! future.
//!
//! Fields: wakers and the parked thread write `notified`. Every holder of the parker writes
//! `references`. `thread` is written once, before the parker is shared.

use core::{
    cell::Cell,
    future::Future,
    mem::ManuallyDrop,
    pin::{Pin, pin},
    ptr::NonNull,
    task::{Context, Poll, Waker},
};
use std::time::{Duration, Instant};

use super::{Header, ThinWaker, VTable, budget};
use crate::sync::{
    AtomicUsize, Retire, fence, heap, order, recheck,
    thread::{self, Thread},
    thread_local,
};

#[repr(C)]
struct Inner {
    header: Header,
    references: AtomicUsize,
    /// `IDLE`, or `NOTIFIED` after a wake-up that the thread has not consumed yet.
    notified: AtomicUsize,
    thread: Thread,
}

const IDLE: usize = 0;
const NOTIFIED: usize = 1;

/// The maximum number of references. Memory cannot hold more wakers, so more means that clones were
/// leaked in a loop.
const MAX_REFERENCES: usize = isize::MAX as usize;

static PARKER: VTable = {
    unsafe fn clone(header: NonNull<Header>) {
        // SAFETY: a live parker's header: the caller holds a reference.
        let shared = unsafe { header.cast::<Inner>().as_ref() };
        // ORDERING: clone. Relaxed: the new reference reaches another thread by a happens-before
        // edge of its own.
        if shared.references.fetch_add(1, order!(clone: Relaxed)) > MAX_REFERENCES {
            std::process::abort();
        }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: passed on from the caller, which gives up one reference.
        unsafe { wake_by_ref(header) };
        // SAFETY: passed on from the caller.
        unsafe { drop(header) };
    }
    unsafe fn wake_by_ref(header: NonNull<Header>) {
        // SAFETY: a live parker's header: the caller holds a reference.
        let shared = unsafe { header.cast::<Inner>().as_ref() };
        // ORDERING: notify. Release, with the Acquire of `take`: everything before the wake-up is
        // visible to the parked thread.
        if shared.notified.swap(NOTIFIED, order!(notify: Release)) == IDLE {
            shared.thread.unpark();
        }
    }
    unsafe fn drop(header: NonNull<Header>) {
        // SAFETY: a live parker's header: the caller holds a reference, and gives it up.
        unsafe { release(header.cast()) };
    }
    VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
    }
};

/// Gives up one reference, and frees the parker after the last.
///
/// # Safety
/// The caller holds a reference and does not use the parker after this.
unsafe fn release(shared: NonNull<Inner>) {
    // SAFETY: alive by the caller's reference. No Rust reference to the whole parker is made,
    // because the parker may be freed during the call.
    let references = unsafe { &(*shared.as_ptr()).references };
    // ORDERING: release, free. Release, with the fence below: all uses of the parker come before it
    // is freed.
    if references.fetch_sub(1, order!(release: Release)) != 1 {
        return;
    }
    fence(order!(free: Acquire));
    // SAFETY: that was the last reference, so the parker is ours alone.
    let owned = unsafe { &mut *shared.as_ptr() };
    owned.references.retire();
    owned.notified.retire();
    // SAFETY: ours alone, initialised, and not used after this.
    unsafe { shared.drop_in_place() };
    // SAFETY: allocated in `Parker::new` as a `Inner`.
    unsafe { heap::release(shared) };
}

/// One reference to a parker of this thread. It never leaves the thread.
struct Parker(NonNull<Inner>);

thread_local! {
    /// The parker that this thread's next wait will use.
    static SPARE: Cell<Option<Parker>> = const { Cell::new(None) };
}

thread_local! {
    /// What this thread does for others while it is blocked, or `None` for nothing.
    static ATTEND: Cell<Option<Attend>> = const { Cell::new(None) };
}

/// Does what is due for others, and returns how long the next call may wait, or `None` if no
/// further call is needed.
///
/// It may run any code, such as wakers, and that code may itself block in a wait of this crate.
pub(crate) type Attend = fn() -> Option<Duration>;

/// Sets what this thread does for others whenever it is blocked in a wait of this crate.
pub(crate) fn set_attend(attend: Option<Attend>) {
    ATTEND.with(|cell| cell.set(attend));
}

fn attends() -> Option<Attend> {
    // After its thread-locals are destroyed, a thread does nothing for others.
    ATTEND.try_with(Cell::get).ok().flatten()
}

/// The number of turns after which a blocking wait that does not sleep attends nevertheless.
const ATTEND_INTERVAL: usize = 61;

/// Counts the turns of a blocking wait, which are polls of its future or runs of its tasks. Without
/// this count, a wait that always has something to do would never attend to others, because it
/// never reaches [`rest`].
pub(crate) struct Busy(usize);

impl Busy {
    pub(crate) fn new() -> Self {
        Self(0)
    }

    /// Counts `turns` more turns, and attends if enough have passed. Attending may make something
    /// due, so the caller must check once more before it sleeps.
    #[inline]
    pub(crate) fn turns(&mut self, turns: usize) {
        self.0 += turns;
        if self.0 >= ATTEND_INTERVAL {
            self.attend();
        }
    }

    #[cold]
    fn attend(&mut self) {
        self.0 = 0;
        if let Some(attend) = attends() {
            attend();
        }
    }
}

/// How a [`rest`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rested {
    /// What the thread waited for is due. `slept` says whether the thread slept at least once.
    Due { slept: bool },
    /// The deadline has passed, and nothing was due.
    TimedOut,
}

/// Blocks this thread until `is_due` returns true, or until the deadline.
///
/// All waits of the crate put their thread to sleep here, by one rule: **the last thing before the
/// thread parks is a check of everything that could be due for it.** Attending to others comes
/// before that check, for two reasons. It may itself make something due for this thread without an
/// unpark, such as a task that is pushed to a private queue. And a waker that parks on its own
/// account consumes the thread's token, and with it an unpark that was meant for this wait.
///
/// Another thread that makes something due must unpark this thread afterwards.
pub(crate) fn rest(deadline: Option<Instant>, mut is_due: impl FnMut() -> bool) -> Rested {
    let mut slept = false;
    loop {
        let mut next = None;
        if let Some(attend) = attends() {
            // Check first, because that is cheaper than attending to others.
            if is_due() {
                return Rested::Due { slept };
            }
            next = attend();
        }
        // RECHECK: due_again. Without it, the thread would sleep through what became due while it
        // attended to others.
        if recheck!(due_again: is_due()) {
            return Rested::Due { slept };
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Rested::TimedOut;
        }
        slept = true;
        match (next, left) {
            // Only what is due for others needs to be punctual. The caller's limit keeps the
            // thread's slack.
            (Some(next), left) if left.is_none_or(|left| next <= left) => {
                punctually(|| thread::park_timeout(next));
            }
            (_, Some(left)) => thread::park_timeout(left),
            (_, None) => thread::park(),
        }
    }
}

/// Runs `sleep`, a sleep with a limit, and asks the kernel to end it punctually. By default the
/// kernel may end it up to 50 microseconds late, to combine it with other wake-ups.
///
/// Threads and programs inherit the timer slack of the thread that starts them. The thread's own
/// slack is therefore restored before any code of a task runs.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    use core::num::NonZeroU64;
    use rustix::thread::{current_timer_slack, set_current_timer_slack};

    const PUNCTUAL: Option<NonZeroU64> = NonZeroU64::new(1);
    // A thread with a real-time policy has no slack, and the call returns 0.
    let own = current_timer_slack().ok().and_then(NonZeroU64::new);
    if own <= PUNCTUAL {
        return sleep();
    }
    // If the system refuses this, the sleep ends as late as by default.
    let _ = set_current_timer_slack(PUNCTUAL);
    sleep();
    let _ = set_current_timer_slack(own);
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    sleep();
}

impl Parker {
    fn new() -> Self {
        let shared = heap::allocate();
        let value = Inner {
            header: Header::new(&PARKER),
            references: AtomicUsize::new(1),
            notified: AtomicUsize::new(IDLE),
            thread: thread::current(),
        };
        // SAFETY: the block is fresh and ours.
        unsafe { shared.write(value) };
        Self(shared)
    }

    /// Returns a parker that no wait of this thread is using.
    fn borrow() -> Borrowed {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        Borrowed(ManuallyDrop::new(spare.unwrap_or_else(Self::new)))
    }

    /// Returns a waker that may be used only while the parker is held. It must not be dropped.
    fn waker(&self) -> ManuallyDrop<Waker> {
        // SAFETY: this is the header of a parker, whose functions count references and wake from
        // any thread. The waker stands for the reference that `self` holds, so it is not dropped.
        ManuallyDrop::new(unsafe { ThinWaker::waker_of_header(self.0.cast()) })
    }

    /// Blocks until a wake-up that no earlier call has consumed, or until the deadline. Returns
    /// false if the deadline came first.
    fn park(&self, deadline: Option<Instant>) -> bool {
        // SAFETY: alive by the reference that `self` holds.
        let shared = unsafe { self.0.as_ref() };
        // ORDERING: take. Acquire, with the Release of `notify`.
        let is_notified = || shared.notified.swap(IDLE, order!(take: Acquire)) == NOTIFIED;
        rest(deadline, is_notified) != Rested::TimedOut
    }
}

impl Drop for Parker {
    fn drop(&mut self) {
        // SAFETY: the reference that `self` holds is given up with it.
        unsafe { release(self.0) };
    }
}

/// A parker in use, which is returned to its thread when this is dropped.
struct Borrowed(ManuallyDrop<Parker>);

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: not used after this.
        let parker = unsafe { ManuallyDrop::take(&mut self.0) };
        // After the thread-locals are destroyed, the parker is dropped instead.
        let _ = SPARE.try_with(|spare| spare.set(Some(parker)));
    }
}

/// Runs a future to its end on this thread, which sleeps while there is nothing to do.
///
/// It needs no executor, and may be called inside another `block_on`. Tasks that the future spawns
/// run on the current executor, which is the global one on a thread that has none.
///
/// Each poll of the future has a budget for operations of `io` and `time`, as a poll of a task has.
///
/// # On a worker
/// On a worker of an [`Executor`](crate::Executor) it blocks that worker, which runs no task
/// meanwhile. Inside a task, await the future instead.
///
/// A blocked worker still attends to the timers and descriptors of its executor, so that what the
/// future waits for arrives even if every worker is blocked. It does so while it sleeps, and at the
/// latest after every 61 polls of a future that never has to wait. The wakers of tasks that wait
/// for those timers and descriptors therefore run on this thread, inside the wait. Do not hold a
/// lock across the wait if such a waker takes the same lock, or the thread deadlocks.
///
/// All of this is true of every blocking wait of this crate.
///
/// # Panics
/// Passes on a panic of the future's `poll`.
///
/// # Cost
/// One allocation for the first call on a thread, which keeps it for later calls. A nested call may
/// allocate once more. The thread sleeps by [`std::thread::park`], and goes back to sleep if it is
/// unparked without a wake-up of the future. On a worker whose executor has timers or descriptors,
/// it also wakes up to attend to those.
///
/// # Example
/// ```
/// assert_eq!(joint::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let output = block_on_until(pin!(future), None);
    output.unwrap_or_else(|| unreachable!("a wait without a deadline ends with the future"))
}

/// Blocks as [`block_on`] does, but returns `None` after `limit`. A limit beyond the range of the
/// clock is no limit.
pub(crate) fn block_on_for<F: Future>(future: Pin<&mut F>, limit: Duration) -> Option<F::Output> {
    block_on_until(future, Instant::now().checked_add(limit))
}

/// Blocks as [`block_on`] does, but returns `None` after the deadline and one last poll.
pub(crate) fn block_on_until<F: Future>(
    mut future: Pin<&mut F>,
    deadline: Option<Instant>,
) -> Option<F::Output> {
    let parker = Parker::borrow();
    let waker = parker.0.waker();
    let mut cx = Context::from_waker(&waker);
    let mut in_time = true;
    let mut busy = Busy::new();
    let _outer = budget::Outer::keep();
    loop {
        budget::begin();
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if !in_time => return None,
            Poll::Pending => {
                let turns = if budget::is_used_up() {
                    ATTEND_INTERVAL
                } else {
                    1
                };
                busy.turns(turns);
                in_time = parker.0.park(deadline);
            }
        }
    }
}
