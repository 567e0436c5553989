//! [`TaskBuilder`]: a task with a name, a priority or a worker of its own.

use alloc::{borrow::Cow, sync::Arc};
use core::{future::Future, panic::Location, ptr};

use super::{
    Executor, entered, hosted,
    local::{self, Begin},
    registry::Lane,
    span::traced,
    worker::{
        Running, current,
        launch::{builder, launch},
        schedule::Scheduler,
        shared::{Runnable, Shared},
        start::start,
    },
};
use joint::task::JoinHandle;

/// How urgent a task is. A more urgent priority is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// Takes turns with all other tasks.
    #[default]
    Normal,
    /// Runs before tasks of normal priority, which still get at least one in 64 runs: see
    /// [`TaskBuilder::priority`].
    High,
}

/// Spawns a task that has more than a future: a name, a priority, or a worker of its own.
///
/// Create it by [`new`](TaskBuilder::new), for the executor that [`spawn`](crate::spawn) uses, or
/// by [`Executor::task`].
///
/// # Cost
/// A name that is a `String` costs an allocation of its own. A task of high priority, or with a
/// worker of its own, is entered among the executor's owned tasks when it is spawned, under a lock.
/// Other tasks are entered when they first wait, without a lock.
///
/// # Example
/// ```
/// use joint_executor::{Priority, TaskBuilder};
///
/// let executor = joint_executor::Executor::builder().workers(2).build()?;
/// let handle = executor.task().name("flush").priority(Priority::High).spawn(async { 7 });
/// assert_eq!(handle.name(), Some("flush"));
/// assert_eq!(joint_executor::block_on(handle), 7);
///
/// let pinned = executor.task().on_worker(1).spawn(async { joint_executor::current_worker() });
/// assert_eq!(joint_executor::block_on(pinned), Some(1));
///
/// let global = TaskBuilder::new().name("elsewhere").spawn(async {});
/// joint_executor::block_on(global);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `spawn` is called"]
pub struct TaskBuilder<'a> {
    executor: Option<&'a Executor>,
    name: Option<Cow<'static, str>>,
    priority: Priority,
    worker: Option<usize>,
}

impl TaskBuilder<'static> {
    /// Creates a builder for the executor that [`spawn`](crate::spawn) uses.
    pub const fn new() -> Self {
        Self {
            executor: None,
            name: None,
            priority: Priority::Normal,
            worker: None,
        }
    }
}

/// Makes a task with or without a name. The two builders are of different types.
macro_rules! start {
    ($name:expr, $spawned:expr, $spawn:ident($future:expr)) => {
        match $name {
            None => builder($spawned).$spawn(|_| $future, Scheduler),
            Some(name) => builder($spawned).name(name).$spawn(|_| $future, Scheduler),
        }
    };
}

impl<'a> TaskBuilder<'a> {
    /// Sets a name, which appears in errors, `Debug`, hooks and spans.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how urgent the task is. A worker runs its tasks of high priority first, oldest first,
    /// but at most 32 of them in a row while it has others, so that those make progress as well.
    ///
    /// A task that has a worker of its own takes turns on that worker, and has no priority.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Runs the task on this worker alone, by its index from 0. The task is never stolen, even if
    /// other workers have nothing to do, and its future is polled on that worker's thread only. A
    /// wake-up from another thread wakes that worker.
    ///
    /// The task gets its turn within a bounded number of other runs: see
    /// [fairness](crate#fairness).
    pub fn on_worker(mut self, worker: usize) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Starts the task, like [`Executor::spawn`].
    ///
    /// # Panics
    /// * If the executor has no worker of that index.
    /// * If a priority is set together with a worker.
    /// * If the global executor is needed and cannot be started.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn_by(Location::caller(), future, Begin::Queued)
    }

    /// Starts the task, and polls it for the first time before this returns, like
    /// [`Executor::spawn_now`]. A task with another worker of its own is queued there. A priority
    /// counts after the first poll.
    ///
    /// # Panics
    /// Like [`spawn`](TaskBuilder::spawn).
    #[track_caller]
    pub fn spawn_now<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn_by(Location::caller(), future, Begin::Now)
    }

    #[inline]
    #[track_caller]
    fn spawn_by<T: Send + 'static>(
        self,
        spawned: &'static Location<'static>,
        future: impl Future<Output = T> + Send + 'static,
        begin: Begin,
    ) -> JoinHandle<T> {
        self.with_target(|name, lane, target| {
            let lane = lane.unwrap_or(Lane::Normal);
            let future = traced(future, lane.name(), name.as_deref(), spawned);
            let (runnable, handle) = start!(name, spawned, spawn(future));
            target.spawn(begin, runnable, lane);
            handle.without_metadata()
        })
    }

    /// Starts a task that nobody waits for, like [`Executor::spawn_detached`].
    ///
    /// # Panics
    /// Like [`spawn`](TaskBuilder::spawn).
    #[track_caller]
    pub fn spawn_detached<F>(self, future: F)
    where
        F: Future + Send + 'static,
    {
        let spawned = Location::caller();
        self.with_target(|name, lane, target| {
            let lane = lane.unwrap_or(Lane::Normal);
            let future = traced(future, lane.name(), name.as_deref(), spawned);
            let runnable = start!(name, spawned, spawn_detached(future));
            target.spawn(Begin::Queued, runnable, lane);
        });
    }

    /// Starts a task that need not be `Send`, on the worker that calls this. It is like
    /// [`spawn_local`], but never uses a [`LocalExecutor`](crate::LocalExecutor).
    ///
    /// # Panics
    /// * On a thread that is not a worker of the executor, or of any executor if the builder is a
    ///   [`new`](TaskBuilder::new) one.
    /// * If another worker is set with [`on_worker`](TaskBuilder::on_worker), or if a priority is
    ///   set.
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        self.spawn_local_by(Location::caller(), future, Begin::Queued)
    }

    /// Starts a task as [`spawn_local`](TaskBuilder::spawn_local) does, and polls it for the first
    /// time before this returns, as [`spawn_now`](TaskBuilder::spawn_now) does.
    ///
    /// # Panics
    /// Like [`spawn_local`](TaskBuilder::spawn_local).
    #[track_caller]
    pub fn spawn_local_now<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        self.spawn_local_by(Location::caller(), future, Begin::Now)
    }

    #[inline]
    #[track_caller]
    fn spawn_local_by<T: 'static>(
        self,
        spawned: &'static Location<'static>,
        future: impl Future<Output = T> + 'static,
        begin: Begin,
    ) -> JoinHandle<T> {
        if current_worker().is_none() {
            no_worker();
        }
        self.with_target(|name, lane, target| {
            let Some(worker) = target.worker else {
                no_worker()
            };
            let own = Lane::Pinned(worker.index());
            if lane.is_some_and(|lane| lane != own) {
                panic!(
                    "a local task runs on the worker that spawns it, which is worker {}; leave out \
                     `on_worker` and `priority`",
                    worker.index()
                );
            }
            worker.lent.note_local();
            let future = traced(future, "local", name.as_deref(), spawned);
            let (runnable, handle) = start!(name, spawned, spawn_local(future));
            target.spawn(begin, runnable, own);
            handle.without_metadata()
        })
    }

    /// Calls `f` with the name, the lane if one was set, and where the task is spawned.
    #[track_caller]
    fn with_target<R>(
        self,
        f: impl FnOnce(Option<Cow<'static, str>>, Option<Lane>, &Target<'_>) -> R,
    ) -> R {
        let is_outside = current_worker().is_none();
        let ambient = (self.executor.is_none() && is_outside).then(entered::ambient);
        let executor = self.executor.or(ambient.as_deref());
        let here = |worker: &Running<'_>| worker.shared().workers();
        let workers = match executor {
            Some(executor) => executor.workers(),
            None => current::with_current(|worker| worker.map_or(0, here)),
        };
        let lane = match (self.worker, self.priority) {
            (None, Priority::Normal) => None,
            (None, Priority::High) => Some(Lane::High),
            (Some(_), Priority::High) => panic!(
                "a task that is pinned to a worker runs in its turn there, so it has no priority; \
                 leave out `priority` or `on_worker`"
            ),
            (Some(worker), _) if worker >= workers => panic!(
                "the executor has {workers} workers, numbered from 0; there is no worker {worker} to run \
                 the task"
            ),
            (Some(worker), _) => Some(Lane::Pinned(worker)),
        };
        current::with_current(|worker| {
            let shared = match (executor, worker) {
                (Some(executor), _) => &executor.shared,
                (None, Some(worker)) => worker.shared(),
                (None, None) => unreachable!("outside of all workers there is an executor"),
            };
            let worker = worker.filter(|worker| Arc::ptr_eq(worker.shared(), shared));
            if let (Some(executor), None) = (executor, worker) {
                hosted::check_place(executor);
            }
            let executor = executor.map_or(ptr::null(), ptr::from_ref);
            f(
                self.name,
                lane,
                &Target {
                    shared,
                    worker,
                    executor,
                },
            )
        })
    }
}

/// Where a task is spawned.
struct Target<'a> {
    shared: &'a Arc<Shared>,
    /// The worker of that executor that this thread is, if it is one.
    worker: Option<&'a Running<'a>>,
    /// The executor, or null if only the worker is known.
    executor: *const Executor,
}

impl Target<'_> {
    #[inline]
    fn spawn(&self, begin: Begin, runnable: Runnable, lane: Lane) {
        match begin {
            Begin::Queued => launch(self.shared, self.worker, runnable, lane),
            Begin::Now => start(self.shared, self.worker, self.executor, runnable, lane),
        }
    }
}

#[cold]
#[track_caller]
fn no_worker() -> ! {
    panic!(
        "a local task was spawned outside of the executor's workers; call `spawn_local` inside a task \
         of an executor, or without a `TaskBuilder` inside a task of a `LocalExecutor`, or use \
         `LocalExecutor::spawn`"
    );
}

impl Executor {
    /// Creates a builder for a task of this executor.
    pub fn task(&self) -> TaskBuilder<'_> {
        TaskBuilder {
            executor: Some(self),
            ..TaskBuilder::new()
        }
    }

    /// Starts a task that only this worker runs, by its index from 0. See
    /// [`TaskBuilder::on_worker`].
    ///
    /// # Panics
    /// If there is no worker of that index. The executor has [`workers`](Executor::workers) of
    /// them.
    #[track_caller]
    pub fn spawn_on<F>(&self, worker: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.task().on_worker(worker).spawn(future)
    }
}

/// Starts a task that need not be `Send`. It is polled and dropped on this thread alone, by the
/// [`LocalExecutor`](crate::LocalExecutor) that is running here, or else by the worker whose task
/// calls this.
///
/// In a side of a [`join`](crate::join()) that another worker has taken, that is the worker that
/// runs the side, whatever task it was running before.
///
/// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on by
/// itself. Wakers of the task may be sent to other threads. If the executor shuts down while one of
/// them wakes the task, the worker waits for that wake-up, which takes a few instructions, and then
/// drops the future itself.
///
/// # Panics
/// On any other thread.
///
/// # Example
/// ```
/// use std::rc::Rc;
///
/// let local = joint_executor::LocalExecutor::new();
/// let answer = Rc::new(42);
/// let answer = local.block_on(async {
///     joint_executor::spawn_local(async move { *answer }).await
/// });
/// assert_eq!(answer, 42);
///
/// let sum = joint_executor::spawn(async {
///     // Sent to its worker as a function: what is not `Send` is made there.
///     let local = || {
///         let shared = Rc::new(40);
///         joint_executor::spawn_local(async move { *shared + 2 })
///     };
///     local().await
/// });
/// assert_eq!(joint_executor::block_on(sum), 42);
/// ```
///
/// The output of such a task stays on the thread too. If the output is not `Send`, neither is the
/// handle:
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// fn send<T: Send>(_: T) {}
/// send(joint_executor::spawn_local(async { Rc::new(1) }));
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: 'static> + 'static,
{
    spawn_local_by(Location::caller(), future, Begin::Queued)
}

#[inline]
#[track_caller]
fn spawn_local_by<T: 'static>(
    spawned: &'static Location<'static>,
    future: impl Future<Output = T> + 'static,
    begin: Begin,
) -> JoinHandle<T> {
    let spawned_there = local::with_current(|home| match home {
        Some(home) => Ok(home.spawn(spawned, future, begin)),
        None => Err(future),
    });
    spawned_there.unwrap_or_else(|future| TaskBuilder::new().spawn_local_by(spawned, future, begin))
}

/// Starts a task that need not be `Send`, where [`spawn_local`] does, and polls it for the first
/// time before this returns, as [`spawn_now`](crate::spawn_now) does.
///
/// # Panics
/// Like [`spawn_local`].
///
/// # Example
/// ```
/// use std::rc::Rc;
///
/// let local = joint_executor::LocalExecutor::new();
/// local.block_on(async {
///     let answer = Rc::new(42);
///     let task = joint_executor::spawn_local_now(async move { answer });
///     assert!(task.is_finished());
/// });
/// ```
#[track_caller]
pub fn spawn_local_now<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: 'static> + 'static,
{
    spawn_local_by(Location::caller(), future, Begin::Now)
}

/// Returns the index of the worker that this thread is, in its executor. Returns `None` on other
/// threads.
///
/// # Example
/// ```
/// assert_eq!(joint_executor::current_worker(), None);
/// let executor = joint_executor::Executor::builder().workers(1).build()?;
/// let inside = executor.spawn(async { joint_executor::current_worker() });
/// assert_eq!(joint_executor::block_on(inside), Some(0));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn current_worker() -> Option<usize> {
    current::with_current(|worker| worker.map(|worker| worker.index()))
}
