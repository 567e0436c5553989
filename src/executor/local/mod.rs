//! [`LocalExecutor`]: tasks that stay on one thread.

use core::{
    fmt,
    future::Future,
    panic::{Location, RefUnwindSafe, UnwindSafe},
};

pub(crate) mod driver;
mod home;
pub(crate) mod inbox;
mod register;
mod run;

pub(super) use self::home::{with_current, without_current};
pub use self::run::Run;
use crate::task::JoinHandle;

/// Runs tasks on the thread that made it. Their futures and outputs need not be `Send`.
///
/// It has no thread of its own: [`block_on`](LocalExecutor::block_on) runs it, or
/// [`run`](LocalExecutor::run) inside of any other executor's task, or
/// [`try_tick`](LocalExecutor::try_tick) one step at a time.
///
/// # Order
/// Tasks run first in, first out: one that is woken goes behind all that are due. So does the main
/// future of `block_on` and `run`. What other threads have woken is looked at every 61 runs. So a
/// task, or a main future, that wakes itself for ever keeps nobody else from running.
///
/// # Wake-ups
/// A wake-up on the executor's own thread puts the task into a private queue: the task's own word
/// takes one atomic read-modify-write, and the queue none. From another thread it takes one more,
/// and one that finds the executor asleep wakes it. Neither allocates, but for the queue's growth,
/// and neither waits.
///
/// # Dropping
/// Cancels every task that has not ended, and drops its future, on this thread, before the drop
/// returns: first those that are due, oldest first, then those that wait, in no particular order.
/// Whoever waits for one learns that it was [cancelled](crate::JoinError::Cancelled). If another
/// thread is in the middle of waking a task, the drop blocks until that thread has passed the task
/// on, which takes it a few instructions. Wakers and handles that outlive the executor do nothing
/// more, on any thread.
///
/// A task that owns its executor, by an `Rc`, keeps both alive.
///
/// # Handles
/// A handle may be sent to another thread if the output may: to await the task there, or to cancel
/// it. The future is dropped here in any case.
///
/// # Panics of tasks
/// A task that panics ends; its panic is for whoever awaits it. The executor goes on.
///
/// # Example
/// ```
/// use joint::LocalExecutor;
/// use std::{cell::Cell, rc::Rc};
///
/// let executor = LocalExecutor::new();
/// let count = Rc::new(Cell::new(0));
/// let tasks: Vec<_> = (1..=4)
///     .map(|i| {
///         let count = count.clone();
///         executor.spawn(async move {
///             joint::yield_now().await;
///             count.set(count.get() + i);
///         })
///     })
///     .collect();
/// executor.block_on(async {
///     for task in tasks {
///         task.await;
///     }
/// });
/// assert_eq!(count.get(), 10);
/// ```
///
/// It stays on its thread:
/// ```compile_fail,E0277
/// fn is_send<T: Send>(_: T) {}
/// is_send(joint::LocalExecutor::new());
/// ```
/// and so does the handle of a task whose output does:
/// ```compile_fail,E0277
/// let executor = joint::LocalExecutor::new();
/// let handle = executor.spawn(async { std::rc::Rc::new(1) });
/// std::thread::spawn(move || handle);
/// ```
pub struct LocalExecutor {
    home: home::Owned,
}

/// What a [`LocalExecutor`] has done so far, as counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalMetrics {
    /// Tasks spawned.
    pub spawned: u64,
    /// Runs of tasks.
    pub polls: u64,
    /// How often a [`block_on`](LocalExecutor::block_on) slept and was woken.
    pub parks: u64,
}

impl LocalExecutor {
    /// An executor for this thread. Two allocations.
    pub fn new() -> Self {
        Self {
            home: home::Owned::new(),
        }
    }

    /// Starts a task. It runs when the executor does.
    ///
    /// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on
    /// by itself.
    ///
    /// One allocation, no atomic operation.
    ///
    /// # Example
    /// ```
    /// use std::rc::Rc;
    ///
    /// let executor = joint::LocalExecutor::new();
    /// let handle = executor.spawn(async { Rc::new(42) });
    /// assert_eq!(*executor.block_on(handle), 42);
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.home.spawn(Location::caller(), future)
    }

    /// Runs the tasks until `future` ends, on this thread, which sleeps while there is nothing to
    /// do. Tasks that have not ended then wait for the next time.
    ///
    /// The future is not a task, and need be neither `Send` nor `'static`. Awaiting a task of this
    /// executor in it takes no atomic operation but the task's own.
    ///
    /// # Panics
    /// When the future's `poll` does, and when called inside itself, or while a
    /// [`run`](LocalExecutor::run) of this executor has not ended. On another executor's thread it
    /// blocks that, as [`block_on`](crate::block_on) does; `run` does not.
    ///
    /// # Example
    /// ```
    /// let executor = joint::LocalExecutor::new();
    /// assert_eq!(executor.block_on(async { 6 * 7 }), 42);
    /// ```
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.home.block_on(future)
    }

    /// Runs the tasks until `future` ends, as a future: so inside of any other executor's task, or
    /// a [`block_on`](crate::block_on). While there is nothing to do, it is pending.
    ///
    /// At each poll it runs up to 61 tasks, and then lets the one who polls have a turn. One `run`
    /// or `block_on` of an executor is under way at a time; this one is from its first poll on
    /// until it is ready or dropped.
    ///
    /// Each time that it is pending it keeps the waker that it was polled with, in the manner of
    /// [`ThinWaker`](crate::waker::ThinWaker): another runtime's waker takes an allocation then.
    ///
    /// # Example
    /// ```
    /// use joint::LocalExecutor;
    ///
    /// let outer = LocalExecutor::new();
    /// let task = outer.spawn(async {
    ///     let inner = LocalExecutor::new();
    ///     let inner_task = inner.spawn(async { 21 });
    ///     inner.run(async { 2 * inner_task.await }).await
    /// });
    /// assert_eq!(outer.block_on(task), 42);
    /// ```
    pub fn run<F: Future>(&self, future: F) -> Run<'_, F> {
        Run::new(&self.home, future)
    }

    /// Runs one task, if one is due. True: it did.
    ///
    /// # Example
    /// ```
    /// let executor = joint::LocalExecutor::new();
    /// let handle = executor.spawn(async { 1 });
    /// assert!(executor.try_tick());
    /// assert!(!executor.try_tick());
    /// assert!(handle.is_finished());
    /// ```
    pub fn try_tick(&self) -> bool {
        self.home.try_tick()
    }

    /// Whether all tasks have ended.
    pub fn is_empty(&self) -> bool {
        self.home.is_empty()
    }

    /// What it has done so far.
    pub fn metrics(&self) -> LocalMetrics {
        self.home.metrics()
    }
}

// No user code runs while anything is half done.
impl UnwindSafe for LocalExecutor {}
impl RefUnwindSafe for LocalExecutor {}

impl Default for LocalExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalExecutor")
            .field("metrics", &self.metrics())
            .finish()
    }
}
