//! How a thread waits: [`block_on`], the [`Parker`] beneath it, and the rule by which every
//! blocking wait of this crate parks its thread ([`park_until`]).
//!
//! Most programs need only [`block_on`] and its variants with a limit. The rest is for authors of
//! executors. A runtime whose main loop also runs tasks parks in a loop of its own, with a
//! [`Parker`] and [`park_until`]. A runtime whose workers have duties even while a task blocks one
//! of them tells the thread so with [`set_attend`]. A thread that must never park replaces its
//! waits with [`set_wait`].

// Each thread keeps one parker for its next wait. A `block_on` inside a `block_on` takes another,
// because the inner one must not use up a wake-up that is meant for the outer future.

use core::{
    cell::Cell,
    future::Future,
    mem::ManuallyDrop,
    pin::pin,
    task::{Context, Poll},
};
use std::time::{Duration, Instant};

use super::budget;
use super::clock;
use joint_switch::{recheck, thread, thread_local};

mod parker;

pub use self::parker::Parker;

thread_local! {
    /// The parker that this thread's next wait will use.
    static SPARE: Cell<Option<Parker>> = const { Cell::new(None) };
    /// The function that this thread calls for others while it is blocked, if any.
    static ATTEND: Cell<Option<Attend>> = const { Cell::new(None) };
    /// The function that this thread calls instead of parking, if any.
    static WAIT: Cell<Option<Wait>> = const { Cell::new(None) };
    /// The function that this thread calls before it unparks another one, if any.
    static ON_UNPARK: Cell<Option<OnUnpark>> = const { Cell::new(None) };
}

/// How a thread waits instead of parking: see [`set_wait`].
///
/// It is given the deadline, and a check that is true once what the thread waits for is due. It
/// must return [`Parked::Due`] after the check was true, and [`Parked::TimedOut`] after a last
/// check if the deadline has passed. If it returns although nothing is due, or because of a
/// deadline that there is not, it is called again.
///
/// If it panics, the panic passes through the wait. Where other threads use the stack of the thread
/// that waits, as in the `install`, `join` and `scope` of `joint-executor`, it ends the program.
pub type Wait = fn(Option<Instant>, &mut dyn FnMut() -> bool) -> Parked;

/// Sets what this thread does instead of parking, in every wait of this crate. With `None`, the
/// default, the thread parks. Returns what was set before.
///
/// This is for the owner of a thread that must not park, because what it waits for may be something
/// that only this thread does. A simulator that runs a whole program on one thread runs the other
/// parts of the program instead. A main loop with duties of its own, such as drawing, does those.
/// A wait that calls the function does not [attend](set_attend) to others itself.
///
/// Only the waits of this thread change. Another thread ends such a wait by making the check true,
/// and then unparks this thread as it would any other.
///
/// # Cost
/// One read of a thread-local for each wait that is about to park.
///
/// # Example
/// ```
/// use joint::waker::park::{Parked, block_on, set_wait};
/// use joint::oneshot::{self, Sender};
/// use std::cell::Cell;
///
/// thread_local! {
///     static SENDER: Cell<Option<Sender<u32>>> = const { Cell::new(None) };
/// }
/// let (sender, receiver) = oneshot::channel();
/// SENDER.set(Some(sender));
/// set_wait(Some(|_deadline, is_due| {
///     // The only other part of this program.
///     SENDER.take().map(|sender| sender.send(7));
///     assert!(is_due(), "deadlock");
///     Parked::Due { slept: false }
/// }));
/// assert_eq!(block_on(receiver), Ok(7));
/// set_wait(None);
/// ```
pub fn set_wait(wait: Option<Wait>) -> Option<Wait> {
    WAIT.with(|cell| cell.replace(wait))
}

/// A function that a thread calls when it unparks another: see [`set_on_unpark`].
pub type OnUnpark = fn(&thread::Thread);

/// Sets the function that this thread calls before it unparks a thread whose wait has become due,
/// or `None` for nothing, which is the default. Returns what was set before.
///
/// This is the counterpart of [`set_wait`]. A simulator that runs several threads by turns learns
/// from it whose turn may come next. The function is called inside wakers, so it must not block,
/// and must not call code of a user.
///
/// # Cost
/// One read of a thread-local for each unpark.
///
/// # Example
/// ```
/// use joint::waker::park::{Parker, set_on_unpark};
/// use std::cell::Cell;
/// use std::thread::{self, ThreadId};
///
/// thread_local! {
///     static UNPARKED: Cell<Option<ThreadId>> = const { Cell::new(None) };
/// }
/// let parker = Parker::new();
/// let waker = parker.waker().clone();
/// // From here on, this thread asks to be unparked.
/// assert!(!parker.take_wake());
/// let other = thread::spawn(move || {
///     set_on_unpark(Some(|thread| UNPARKED.set(Some(thread.id()))));
///     waker.wake();
///     UNPARKED.get()
/// });
/// assert_eq!(other.join().unwrap(), Some(thread::current().id()));
/// ```
pub fn set_on_unpark(f: Option<OnUnpark>) -> Option<OnUnpark> {
    ON_UNPARK.with(|cell| cell.replace(f))
}

/// Unparks a thread whose wait has become due.
#[inline]
fn unpark(thread: &thread::Thread) {
    if let Ok(Some(on_unpark)) = ON_UNPARK.try_with(Cell::get) {
        on_unpark(thread);
    }
    thread.unpark();
}

/// A function that a blocked thread calls for others: see [`set_attend`].
///
/// It does what is due, and returns how long the next call may wait, or `None` if no further call
/// is needed. It may run any code, such as wakers, and that code may itself block in a wait of this
/// crate.
///
/// In a [`block_on`] without a limit, it is given the [`Parker`] by whose waker the future is
/// polled. Only [clones](Parker::clones) of that waker can end the wait then. In every other wait
/// it is given `None`.
pub type Attend = fn(Option<&Parker>) -> Option<Duration>;

/// Sets what this thread does for others whenever it is blocked in a wait of this crate, or `None`
/// for nothing, which is the default. Returns what was set before.
///
/// A worker of an executor may be blocked by a task that it runs. If the worker is also the one
/// that fires timers or watches descriptors, what the task waits for may never come. The worker
/// sets a function that does these duties. It is called before the thread parks and again after the
/// time that it has returned, and also by waits that never park, at least once every 61 turns (see
/// [`Turns`]). A wait may therefore wake up early, but its caller does not notice.
///
/// The function is called inside the wait. If it blocks in another wait of this crate, that wait
/// calls it again. If it panics, the panic passes through the wait, as a [`Wait`]'s does.
///
/// # Example
/// ```
/// use joint::waker::park::{block_on, set_attend};
/// use std::cell::Cell;
/// use std::task::{Poll, Waker};
/// use std::time::Duration;
///
/// thread_local! {
///     static TIMER: Cell<Option<Waker>> = const { Cell::new(None) };
/// }
///
/// // This thread's duty is a timer that is always due.
/// set_attend(Some(|_| {
///     TIMER.take().map(Waker::wake);
///     Some(Duration::from_millis(1))
/// }));
/// let mut polls = 0;
/// let timer = std::future::poll_fn(|cx| {
///     polls += 1;
///     if polls == 2 {
///         return Poll::Ready(());
///     }
///     TIMER.set(Some(cx.waker().clone()));
///     Poll::Pending
/// });
/// block_on(timer);
/// set_attend(None);
/// ```
#[inline]
pub fn set_attend(attend: Option<Attend>) -> Option<Attend> {
    ATTEND.with(|cell| cell.replace(attend))
}

fn attends() -> Option<Attend> {
    // After its thread-locals are destroyed, a thread does nothing for others.
    ATTEND.try_with(Cell::get).ok().flatten()
}

/// The number of turns after which a blocking wait that does not park attends nevertheless.
const ATTEND_INTERVAL: usize = 61;

/// Counts the turns of a blocking loop, which are polls of its future or runs of its tasks, and
/// [attends](set_attend) to others every 61 turns.
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
        attends().map(|attend| attend(None));
    }
}

/// How a [`park_until`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// The condition that the thread waited for is met.
    Due {
        /// Whether the thread has parked at least once.
        slept: bool,
    },
    /// The deadline has passed, and nothing was due.
    TimedOut,
}

/// Parks this thread until `is_due` returns true, or until the deadline.
///
/// All waits of the crate park their thread here, by one rule: **the last thing before the thread
/// parks is a check of everything that could be due for it.** [Attending](set_attend) to others
/// comes before that check, for two reasons. It may itself make something due for this thread
/// without an unpark, such as a task that is pushed to a private queue. And a waker that parks on
/// its own account consumes the thread's token, and with it an unpark that was meant for this wait.
///
/// Another thread that makes something due must unpark this thread afterwards. The waker of a
/// [`Parker`] does. `is_due` is called at least once, also if the deadline has passed, and again
/// each time that the thread is unparked, for whatever reason.
///
/// # Example
/// The main loop of an executor that runs a future and tasks on one thread:
/// ```
/// use joint::task::{self, Runnable};
/// use joint::waker::park::{Parker, Turns, park_until};
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
pub fn park_until(deadline: Option<Instant>, is_due: impl FnMut() -> bool) -> Parked {
    park(None, deadline, is_due)
}

/// Parks as [`park_until`] does. `parker` is that of a [`block_on`], with or without a limit.
fn park(
    parker: Option<&Parker>,
    deadline: Option<Instant>,
    mut is_due: impl FnMut() -> bool,
) -> Parked {
    if let Ok(Some(wait)) = WAIT.try_with(Cell::get) {
        return wait_by(wait, deadline, is_due);
    }
    let mut slept = false;
    loop {
        let mut next = None;
        if let Some(attend) = attends() {
            // Check first, because that is cheaper than attending to others.
            if is_due() {
                return Parked::Due { slept };
            }
            next = attend(parker.filter(|_| deadline.is_none()));
        }
        // RECHECK: due_again. Without it, the thread would sleep through what became due while it
        // attended to others.
        if recheck!(due_again: is_due()) {
            return Parked::Due { slept };
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(clock::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Parked::TimedOut;
        }
        slept = true;
        match next.into_iter().chain(left).min() {
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

/// A parker in use, which is returned to its thread when this is dropped.
struct Borrowed(ManuallyDrop<Parker>);

impl Borrowed {
    /// Borrows a parker that no wait of this thread is using.
    fn new() -> Self {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        Self(ManuallyDrop::new(spare.unwrap_or_default()))
    }
}

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
/// use joint::waker::park::block_on_timeout;
/// use std::{pin::pin, time::Duration};
///
/// let (sender, receiver) = joint::oneshot::channel();
/// let mut receiver = pin!(receiver);
/// assert_eq!(block_on_timeout(receiver.as_mut(), Duration::from_millis(1)), None);
/// sender.send(5).unwrap();
/// assert_eq!(block_on_timeout(receiver, Duration::MAX), Some(Ok(5)));
/// ```
pub fn block_on_timeout<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    block_on_until(future, clock::now().checked_add(limit))
}

/// Blocks as [`block_on`] does, but returns `None` after the deadline and one last poll.
///
/// # Panics
/// Passes on a panic of the future's `poll`.
///
/// # Example
/// ```
/// use joint::waker::park::block_on_deadline;
/// use std::{future::pending, time::{Duration, Instant}};
///
/// let deadline = Instant::now() + Duration::from_millis(1);
/// assert_eq!(block_on_deadline(pending::<()>(), deadline), None);
/// assert!(Instant::now() >= deadline);
/// ```
pub fn block_on_deadline<F: Future>(future: F, deadline: Instant) -> Option<F::Output> {
    block_on_until(future, Some(deadline))
}

fn block_on_until<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let Borrowed(parker) = &Borrowed::new();
    let mut cx = Context::from_waker(parker.waker());
    let mut in_time = true;
    let mut turns = Turns::new();
    let _outer = budget::save();
    loop {
        budget::refill();
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if !in_time => return None,
            Poll::Pending => {
                let passed = match budget::is_used_up() {
                    true => ATTEND_INTERVAL,
                    false => 1,
                };
                turns.count(passed);
                in_time = park(Some(parker), deadline, || parker.take_wake()) != Parked::TimedOut;
            }
        }
    }
}
