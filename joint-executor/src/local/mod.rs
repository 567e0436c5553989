//! [`LocalExecutor`]: tasks that stay on one thread.

use core::{
    fmt,
    future::Future,
    panic::{Location, RefUnwindSafe, UnwindSafe},
};

pub(crate) mod inbox;
mod register;
mod run;
mod state;

use self::run::Run;
pub(super) use self::state::{Begin, with_current};
use joint::task::JoinHandle;

/// Runs tasks on the thread that created it. Their futures and outputs need not be `Send`.
///
/// It has no thread of its own. It runs in [`block_on`](LocalExecutor::block_on), or in
/// [`run`](LocalExecutor::run) inside a task of any other executor, or one step at a time in
/// [`try_tick`](LocalExecutor::try_tick).
///
/// An executor of the [current thread](crate::Builder::build_current_thread) also serves timers and
/// descriptors on its thread, and takes tasks from other threads. Here the executor around it, or
/// the global one, serves them, so each costs a wake-up from another thread. In return it is
/// faster: a turn of its main future takes 104 instructions instead of 2,244, and a task that
/// awaits a new one 706 instead of 1,350 (`cargo xtask instructions`, without LTO).
///
/// # Order
/// Tasks run first in, first out: a task that is woken goes behind all tasks that are due. The same
/// holds for the main future of `block_on` and `run`. The tasks that other threads have woken are
/// fetched every 32 runs. A task or a main future that wakes itself forever therefore keeps no
/// other task from running.
///
/// # Wake-ups
/// A wake-up on the executor's own thread puts the task into a private queue. It costs one atomic
/// read-modify-write on the task's own word, and none on the queue. A task that wakes itself, as
/// [`yield_now`](crate::yield_now()) does, takes none. A wake-up from another thread costs one more
/// than the first kind, and if it finds the executor asleep, it also wakes the executor. No wake-up
/// waits, and none allocates except to grow the queue.
///
/// # Memory
/// A task takes 48 bytes and its future, or its output if that is larger, in one allocation; more
/// than 16 KiB are [apart](joint::task#memory). A task that has waited takes 8 bytes more until it
/// ends: its entry in a list, by which the drop of the executor finds the tasks that wait. The list
/// is allocated in pieces of 1,024 bytes, and the queue takes 8 bytes for each task that is due.
/// Both keep their largest size.
///
/// # Dropping
/// Cancels every task that has not ended, and drops its future on this thread before the drop
/// returns: first the tasks that are due, oldest first, then the waiting tasks, in no particular
/// order, and last those that other threads have woken and that have not been fetched since. The
/// waiter of such a task learns that it was [cancelled](joint::JoinError::Cancelled). If another
/// thread is in the middle of waking a task, the drop blocks until that thread has passed the task
/// on, which takes a few instructions. Wakers and handles that outlive the executor do nothing
/// more, on any thread.
///
/// A task that owns its executor through an `Rc` keeps both alive.
///
/// If a task calls `std::process::exit`, and the executor is in a thread-local, its tasks are not
/// dropped.
///
/// # Handles
/// If a task's output is `Send`, its handle may be sent to another thread, to await or cancel the
/// task there. The future is dropped on this thread in any case.
///
/// # Panics of tasks
/// A task that panics ends, and its waiter gets the panic. The executor continues.
///
/// # Example
/// ```
/// use joint_executor::LocalExecutor;
/// use std::{cell::Cell, rc::Rc};
///
/// let executor = LocalExecutor::new();
/// let count = Rc::new(Cell::new(0));
/// let tasks: Vec<_> = (1..=4)
///     .map(|i| {
///         let count = count.clone();
///         executor.spawn(async move {
///             joint_executor::yield_now().await;
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
/// The executor stays on its thread:
/// ```compile_fail,E0277
/// fn is_send<T: Send>(_: T) {}
/// is_send(joint_executor::LocalExecutor::new());
/// ```
/// and so does the handle of a task whose output is not `Send`:
/// ```compile_fail,E0277
/// let executor = joint_executor::LocalExecutor::new();
/// let handle = executor.spawn(async { std::rc::Rc::new(1) });
/// std::thread::spawn(move || handle);
/// ```
pub struct LocalExecutor {
    state: state::Owned,
}

impl LocalExecutor {
    /// Creates an executor for this thread. Two allocations.
    #[inline]
    pub fn new() -> Self {
        Self {
            state: state::Owned::new(),
        }
    }

    /// Starts a task. It runs when the executor runs.
    ///
    /// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on
    /// by itself.
    ///
    /// # Cost
    /// [One allocation](joint::task#memory), and no atomic operation.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        (self.state).spawn(Location::caller(), future, Begin::Queued)
    }

    /// Starts a task, and polls it for the first time before this returns, as
    /// [`joint_executor::spawn_now`](crate::spawn_now) does. If the future is ready then, the task
    /// was in no queue. It starts so also while the executor does not run, and is queued instead
    /// while 16 tasks are being started, one inside the other, and while the executor is dropped.
    ///
    /// # Cost
    /// [One allocation](joint::task#memory), and one atomic read-modify-write.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::LocalExecutor::new();
    /// assert!(executor.spawn_now(async {}).is_finished());
    /// assert!(!executor.spawn_now(joint_executor::yield_now()).is_finished());
    /// ```
    #[track_caller]
    pub fn spawn_now<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        (self.state).spawn(Location::caller(), future, Begin::Now)
    }

    /// Starts a task that nobody waits for. Its output is dropped where it ends, on this thread.
    ///
    /// It costs less than [`spawn`](LocalExecutor::spawn) and [`detach`](JoinHandle::detach),
    /// because there is no handle.
    ///
    /// # Cost
    /// [One allocation](joint::task#memory). If no waker of the task is left when it ends, there is
    /// no atomic operation from its start to its end but two loads.
    ///
    /// # Example
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// let executor = joint_executor::LocalExecutor::new();
    /// let (sum, part) = (Rc::new(Cell::new(0)), 7);
    /// let total = sum.clone();
    /// executor.spawn_detached(async move { total.set(total.get() + part) });
    /// assert!(executor.try_tick());
    /// assert_eq!(sum.get(), 7);
    /// ```
    #[track_caller]
    pub fn spawn_detached<F>(&self, future: F)
    where
        F: Future + 'static,
    {
        self.state.spawn_detached(Location::caller(), future);
    }

    /// Runs the tasks until `future` ends, on this thread, which sleeps while there is nothing to
    /// do. Tasks that have not ended by then wait until the executor runs again.
    ///
    /// The future is not a task, and need be neither `Send` nor `'static`. Awaiting a task of this
    /// executor in it takes no atomic read-modify-writes but those of the task itself.
    ///
    /// On a worker, or inside another local executor, it blocks that thread, as
    /// [`block_on`](joint::block_on) does; `run` does not.
    ///
    /// # Panics
    /// If the future's `poll` panics; if it is called inside itself; or if a
    /// [`run`](LocalExecutor::run) of this executor has not ended.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.state.block_on(future)
    }

    /// Runs the tasks until `future` ends, as a future. It can be awaited inside a task of any
    /// other executor, or in a [`block_on`](joint::block_on). While there is nothing to do, it is
    /// pending.
    ///
    /// Each poll runs up to 32 tasks, and then returns, so that the polling task's own executor can
    /// run other tasks. Only one `run` or `block_on` of an executor may be under way at a time. A
    /// `run` is under way from its first poll until it is ready or dropped.
    ///
    /// Each time that it is pending, it keeps the waker that it was polled with, as a
    /// [`ThinWaker`](joint::waker::ThinWaker). That takes an allocation if the waker is another
    /// runtime's.
    ///
    /// # Panics
    /// If the future's `poll` panics; or if a `run` or `block_on` of this executor is under way.
    ///
    /// # Example
    /// ```
    /// use joint_executor::LocalExecutor;
    ///
    /// let outer = LocalExecutor::new();
    /// let task = outer.spawn(async {
    ///     let inner = LocalExecutor::new();
    ///     let inner_task = inner.spawn(async { 21 });
    ///     inner.run(async { 2 * inner_task.await }).await
    /// });
    /// assert_eq!(outer.block_on(task), 42);
    /// ```
    pub fn run<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        Run::new(&self.state, future)
    }

    /// Runs one task, if one is due. Returns whether it did.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::LocalExecutor::new();
    /// let handle = executor.spawn(async { 1 });
    /// assert!(executor.try_tick());
    /// assert!(!executor.try_tick());
    /// assert!(handle.is_finished());
    /// ```
    #[inline]
    pub fn try_tick(&self) -> bool {
        self.state.try_tick()
    }

    /// Returns whether all tasks have ended.
    pub fn is_empty(&self) -> bool {
        self.state.is_empty()
    }
}

// No user code runs while anything is half done.
impl UnwindSafe for LocalExecutor {}
impl RefUnwindSafe for LocalExecutor {}

impl Default for LocalExecutor {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalExecutor")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}
