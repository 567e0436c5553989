//! How a thread waits: [`block_on`], the [`Parker`] beneath it, and the rule by which every
//! blocking wait of this crate parks its thread ([`park_until`]).
//!
//! Most programs need only [`block_on`] and its variants with a limit. The rest is for authors of
//! executors. A runtime whose main loop also runs tasks parks in a loop of its own, with a
//! [`Parker`] and [`park_until`]. A runtime whose workers have duties even while a task blocks one
//! of them, or a thread that must never park, says so by the thread's [`host`].

// Each thread keeps one parker for its next wait. A `block_on` inside a `block_on` takes another,
// because the inner one must not use up a wake-up that is meant for the outer future.

use core::{
    cell::Cell,
    future::Future,
    pin::pin,
    task::{Context, Poll},
};
use std::time::{Duration, Instant};

use super::{
    budget,
    host::{self, Wait},
};
use joint_switch::{recheck, thread, thread_local};

#[doc(inline)]
pub use super::host::{Parked, Parker};

thread_local! {
    /// The parker that this thread's next wait will use.
    static SPARE: Cell<Option<Parker>> = const { Cell::new(None) };
}

/// The number of turns after which a blocking wait that does not park attends nevertheless.
const ATTEND_INTERVAL: usize = 61;

/// Counts the turns of a blocking loop, which are polls of its future or runs of its tasks, and
/// [attends](host::Host::attend) to others every 61 turns.
///
/// Without this count, a loop that always has something to do would never attend to others, because
/// it never reaches [`park_until`], which has an example.
#[derive(Debug, Default)]
pub struct Turns(usize);

impl Turns {
    /// Creates a count of zero turns.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Counts `turns` more turns, and attends if enough have passed. Attending may make something
    /// due, so the caller must check once more before it parks.
    #[inline]
    pub fn count(&mut self, turns: usize) {
        self.0 = self.0.saturating_add(turns);
        if self.0 >= ATTEND_INTERVAL {
            self.attend();
        }
    }

    #[cold]
    fn attend(&mut self) {
        self.0 = 0;
        host::part(|host| host.attend).map(|attend| attend(None));
    }
}

/// Parks this thread until `is_due` returns true, or until the deadline.
///
/// All waits of the crate park their thread here, by one rule: **the last thing before the thread
/// parks is a check of everything that could be due for it.** [Attending](host::Host::attend) to
/// others comes before that check, for two reasons. It may itself make something due for this
/// thread without an unpark, such as a task that is pushed to a private queue. And a waker that
/// parks on its own account consumes the thread's token, and with it an unpark that was meant for
/// this wait.
///
/// Another thread that makes something due must unpark this thread afterwards. The waker of a
/// [`Parker`] does. `is_due` is called at least once, also if the deadline has passed, and again
/// each time that the thread is unparked, for whatever reason.
///
/// # Example
/// The main loop of an executor that runs a future and tasks on one thread:
/// ```
/// use joint::task::{self, Runnable};
/// use joint::park::{park_until, Parker, Turns};
/// use std::pin::pin;
/// use std::sync::mpsc::{Receiver, channel};
/// use std::task::{Context, Poll, Waker};
///
/// fn run<T>(future: impl Future<Output = T>, parker: &Parker, tasks: &Receiver<Runnable>) -> T {
///     let mut future = pin!(future);
///     let mut cx = Context::from_waker(parker.waker());
///     let mut turns = Turns::new();
///     loop {
///         if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
///             return output;
///         }
///         while let Ok(runnable) = tasks.try_recv() {
///             runnable.run();
///             turns.count(1);
///         }
///         // Every push wakes the parker too.
///         park_until(None, || parker.take_wake());
///     }
/// }
///
/// let parker = Parker::new();
/// let (sender, tasks) = channel();
/// let waker = parker.waker().clone();
/// let push = move |runnable| {
///     sender.send(runnable).unwrap();
///     waker.wake_by_ref();
/// };
/// let (runnable, handle) = task::spawn(async { 6 * 7 }, push);
/// runnable.schedule();
/// assert_eq!(run(handle, &parker, &tasks), 42);
/// ```
#[cfg_attr(joint_loom, track_caller)]
pub fn park_until(deadline: Option<Instant>, is_due: impl FnMut() -> bool) -> Parked {
    park(None, deadline, is_due)
}

/// Checks once more. A function of its own, which a model finds by this file: `park` is found by
/// its caller's.
fn is_due_again(mut is_due: impl FnMut() -> bool) -> bool {
    // RECHECK: due_again. Without it, the thread would sleep through what became due while it
    // attended to others.
    recheck!(due_again: is_due())
}

/// Parks as [`park_until`] does. `parker` is that of a [`block_on`], with or without a limit.
#[cfg_attr(joint_loom, track_caller)]
fn park(
    parker: Option<&Parker>,
    deadline: Option<Instant>,
    mut is_due: impl FnMut() -> bool,
) -> Parked {
    if let Some(wait) = host::part(|host| host.wait) {
        return wait_by(wait, deadline, is_due);
    }
    let mut slept = false;
    loop {
        let mut next = None;
        if let Some(attend) = host::part(|host| host.attend) {
            // Check first, because that is cheaper than attending to others.
            if is_due() {
                return Parked::Due { slept };
            }
            next = attend(parker.filter(|_| deadline.is_none()));
        }
        if is_due_again(&mut is_due) {
            return Parked::Due { slept };
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(host::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Parked::TimedOut;
        }
        slept = true;
        let limit = match (next, left) {
            (Some(next), Some(left)) => Some(next.min(left)),
            _ => next.or(left),
        };
        match limit {
            Some(limit) => thread::park_timeout(limit),
            None => thread::park(),
        }
    }
}

/// Waits by a function that the thread has set, and holds it to its contract.
fn wait_by(wait: Wait, deadline: Option<Instant>, mut is_due: impl FnMut() -> bool) -> Parked {
    let mut was_due = false;
    loop {
        // A check may have taken the wake-up, so it is true from then on.
        let parked = wait(deadline, &mut || {
            was_due = was_due || is_due();
            was_due
        });
        match parked {
            Parked::Due { .. } if was_due || is_due() => return parked,
            Parked::TimedOut if was_due || is_due() => return Parked::Due { slept: true },
            Parked::TimedOut if deadline.is_some() => return parked,
            Parked::TimedOut | Parked::Due { .. } => {}
        }
    }
}

impl Parker {
    /// Blocks the thread until there is a wake-up that no earlier call has taken, and takes it.
    #[cfg_attr(joint_loom, track_caller)]
    pub fn park(&self) {
        self.park_until(None);
    }

    /// Parks as [`park`](Parker::park) does, for `limit` at most. Returns whether there was a
    /// wake-up. A limit beyond the range of the clock is no limit.
    #[cfg_attr(joint_loom, track_caller)]
    pub fn park_timeout(&self, limit: Duration) -> bool {
        self.park_until(host::now().checked_add(limit)) != Parked::TimedOut
    }

    /// Parks as [`park`](Parker::park) does, until `deadline` at most. Returns whether there was a
    /// wake-up.
    #[cfg_attr(joint_loom, track_caller)]
    pub fn park_deadline(&self, deadline: Instant) -> bool {
        self.park_until(Some(deadline)) != Parked::TimedOut
    }

    #[cfg_attr(joint_loom, track_caller)]
    fn park_until(&self, deadline: Option<Instant>) -> Parked {
        park_until(deadline, || self.take_wake())
    }
}

/// Runs a future to its end on this thread, which sleeps while there is nothing to do.
///
/// It needs no executor, and may be called inside another `block_on`. It runs nothing but the
/// future: a task that the future spawns runs on the executor that it is spawned on.
///
/// Each poll of the future has a [budget] of operations that are always ready, as a poll of a task
/// has.
///
/// # On a worker
/// On a worker of an executor it blocks that worker, which runs no task meanwhile. Inside a task,
/// await the future instead. In an executor of one worker no other worker can run what the future
/// waits for, so a wait there for a task of the same executor never ends. `joint-executor` notices
/// this, and [panics](#panics).
///
/// A blocked worker of `joint-executor` still attends to the timers and descriptors of its
/// executor, so that what the future waits for arrives even if every worker is blocked. It does so
/// while it sleeps, and at the latest after every 61 polls of a future that never has to wait. The
/// wakers of tasks that wait for those timers and descriptors therefore run on this thread, inside
/// the wait. Do not hold a lock across the wait if such a waker takes the same lock, or the thread
/// deadlocks.
///
/// All of this is true of every blocking wait of this crate, except that the others do not panic.
///
/// # Panics
/// * Passes on a panic of the future's `poll`.
/// * On a worker of `joint-executor`, after a second, if the future waits for nothing but handles
///   of tasks that only this worker can run: the executor has no other worker, or the tasks are
///   pinned to this one. Await such tasks instead, pass the code that blocks to `spawn_blocking`,
///   or build the executor with more workers. A deadlock is not noticed if the future waits for a
///   channel whose sender such a task has, or if several workers wait for tasks that any of them
///   could run.
///
/// # Cost
/// One allocation for the first call on a thread, which keeps it for later calls. A nested call may
/// allocate once more. The thread sleeps by [`std::thread::park`], and goes back to sleep if it is
/// unparked without a wake-up of the future. On a worker it also wakes up once a second, and more
/// often to attend to timers and descriptors if its executor has any.
///
/// # Example
/// ```
/// assert_eq!(joint::block_on(async { 6 * 7 }), 42);
/// ```
#[doc(alias = "pollster")]
#[cfg_attr(joint_loom, track_caller)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let output = block_on_until(future, None);
    output.unwrap_or_else(|| unreachable!("a wait without a deadline ends with the future"))
}

/// Blocks as [`block_on`] does, but returns `None` after `limit` and one last poll. A limit beyond
/// the range of the clock is no limit.
///
/// The future is dropped then. To keep it, pass a pinned reference to it.
///
/// # Panics
/// Passes on a panic of the future's `poll`.
///
/// # Example
/// ```
/// use joint::park::block_on_timeout;
/// use std::{pin::pin, time::Duration};
///
/// let (sender, receiver) = joint::oneshot::channel();
/// let mut receiver = pin!(receiver);
/// assert_eq!(block_on_timeout(receiver.as_mut(), Duration::from_millis(1)), None);
/// sender.send(5).unwrap();
/// assert_eq!(block_on_timeout(receiver, Duration::MAX), Some(Ok(5)));
/// ```
#[cfg_attr(joint_loom, track_caller)]
pub fn block_on_timeout<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    block_on_until(future, host::now().checked_add(limit))
}

/// Blocks as [`block_on`] does, but returns `None` after the deadline and one last poll.
///
/// # Panics
/// Passes on a panic of the future's `poll`.
///
/// # Example
/// ```
/// use joint::park::block_on_deadline;
/// use std::{future::pending, time::{Duration, Instant}};
///
/// let deadline = Instant::now() + Duration::from_millis(1);
/// assert_eq!(block_on_deadline(pending::<()>(), deadline), None);
/// assert!(Instant::now() >= deadline);
/// ```
#[cfg_attr(joint_loom, track_caller)]
pub fn block_on_deadline<F: Future>(future: F, deadline: Instant) -> Option<F::Output> {
    block_on_until(future, Some(deadline))
}

#[cfg_attr(joint_loom, track_caller)]
fn block_on_until<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let spare = SPARE.try_with(Cell::take).ok().flatten();
    let parker = spare.unwrap_or_default();
    let mut cx = Context::from_waker(parker.waker());
    let mut in_time = true;
    let mut turns = Turns::new();
    let _outer = budget::save();
    let output = loop {
        budget::refill();
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => break Some(output),
            Poll::Pending if !in_time => break None,
            Poll::Pending => {
                let passed = match budget::is_used_up() {
                    true => ATTEND_INTERVAL,
                    false => 1,
                };
                turns.count(passed);
                in_time = park(Some(&parker), deadline, || parker.take_wake()) != Parked::TimedOut;
            }
        }
    };
    // After the thread-locals are destroyed, or if a poll panics, the parker is dropped instead.
    let _ = SPARE.try_with(|spare| spare.set(Some(parker)));
    output
}
