//! A work-stealing executor: tasks on many threads.
//!
//! Each worker has a queue of its own, from which those with nothing to do steal when polls take long, or when it does not get on;
//! tasks from outside come through an injector; who waited for a task that ends runs next on the same worker. A worker with
//! nothing to do looks after the others for as long as they are busy, and then sleeps (`sleep.rs` has the proof that no wake-up is
//! missed).
//!
//! # Fairness
//! No task that is due waits for ever behind others, however these wake each other or come anew. A worker runs
//!
//! * who waited for the task that has just ended, if it ended there: at most 16 such in a row. What follows counts only the other runs;
//! * what it has of [high priority](Priority::High), oldest first: at most 32 in a row while it has others;
//! * what is in its own queue, oldest first: the oldest within 64 runs;
//! * what is pinned to it, oldest first: the oldest within 80 runs, and while there are more, one in eight runs at the least;
//! * what comes from outside, in batches of up to 64: the oldest of normal priority that no other worker takes within 61 runs.
//!   That of high priority is brought among the worker's own in the same time.
//!
//! A task whose descriptors and timers are always ready gives way after 128 operations, by the [budget](crate::io#fairness) that each poll
//! has for them. Its worker then looks at what comes from outside and at the driver, before the next task.
//!
//! A worker that is in a long poll runs nothing else. What is in its queue is taken over then: by those that have nothing to do, within a
//! millisecond or two; and when there are none, by one that looks round every 61 to 976 runs. What is pinned to it waits.
//!
//! # Timers and descriptors
//! A timer of [`time`](crate::time) or a descriptor of [`io`](crate::io) is served by the executor
//! whose worker first polls it. On a thread that is no worker, that is the executor in whose
//! [`block_on`](Executor::block_on) the thread is, or else the [global](Executor::global) one. There
//! is no thread of its own for it: an idle worker waits there, until the earliest deadline or until a
//! descriptor is ready, and what becomes due is run on that worker. Workers that are all busy look
//! there between two polls: after at most 61 runs at the deadlines of their own tasks and, in turn,
//! of the others', and at the descriptors too, but not more often than every 20 microseconds. When
//! the worker that waits there gets something to do, it comes back after that. If it stays away,
//! another idle worker takes over: immediately if recent polls took 50 microseconds or more,
//! otherwise within 5 milliseconds.
//!
//! A worker whose poll is blocked in a wait of this crate, such as [`block_on`](crate::block_on),
//! serves them inside that wait. The wakers that it runs there are those of whoever waits for a
//! timer or a descriptor: tasks of an executor run no code of theirs then, but another crate's waker
//! may. See [`block_on`](crate::block_on#on-a-worker) for what that means for locks. A blocked worker
//! looks there every millisecond, or every 5 while another worker keeps the driver: by so much a
//! descriptor, or a timer that another thread arms meanwhile, may be late.
//!
//! [`spawn`] and [`spawn_detached`] start tasks, from anywhere; [`spawn_local`] and [`yield_now`] are for use inside a task; a
//! [`TaskBuilder`] spawns with a name, a priority or a worker of its own; a [`JoinSet`] joins many tasks in the order in which they
//! end; [`scope()`] and [`async_scope`] start tasks that borrow; [`join()`] and [`join_async()`] split work in two. [`Executor`] is for those
//! who want one of their own; and [`block_on`](crate::block_on), or [`Executor::block_on`], is how a thread outside waits for any of it.
//!
//! Beside it: [`LocalExecutor`], for tasks that stay on one thread; [`TaskLocal`], for values that tasks carry with them; and
//! `spawn_blocking`, for functions that block (feature `blocking`).

use alloc::{sync::Arc, vec::Vec};
use core::{
    fmt,
    future::Future,
    mem,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    pin::Pin,
    task::{Context, Poll},
};
use std::{io, sync::OnceLock, thread};

use crossbeam_deque::Worker;

/// Keeps what has happened, if a trace was asked for: of which hooks, by which worker, what.
#[cfg(feature = "trace")]
macro_rules! record {
    ($hooks:expr, $worker:expr, $event:ident $($of:tt)?) => {
        if let Some(recorder) = &$hooks.recorder {
            recorder.record($worker, $crate::executor::trace::Event::$event $($of)?);
        }
    };
}
#[cfg(not(feature = "trace"))]
macro_rules! record {
    ($hooks:expr, $worker:expr, $event:ident $($of:tt)?) => {};
}

#[cfg_attr(not(feature = "io"), path = "attend_absent.rs")]
mod attend;
pub(crate) mod biased;
mod blocked;
#[cfg(feature = "blocking")]
mod blocking;
mod builder;
mod closing;
mod current;
pub(crate) mod driver;
mod entered;
pub(crate) mod fork_join;
pub(crate) mod gate;
mod hooks;
pub(crate) mod inbox;
mod join_async;
mod join_set;
pub mod local;
mod lookout;
mod metrics;
mod process;
mod registry;
mod scope;
mod shared;
mod shutdown;
pub(crate) mod sleep;
mod span;
mod task_builder;
mod task_local;
#[cfg(feature = "trace")]
mod trace;
mod turn;
pub(crate) mod visitors;
#[cfg(feature = "io")]
mod visits;
mod worker;

#[cfg(feature = "blocking")]
pub use self::blocking::spawn_blocking;
#[cfg(feature = "trace")]
pub use self::trace::{Span, SpanKind, Trace};
pub use self::{
    builder::Builder,
    fork_join::join,
    hooks::{TaskEnd, TaskInfo},
    join_async::join_async,
    join_set::JoinSet,
    local::{LocalExecutor, LocalMetrics},
    metrics::{Metrics, WorkerMetrics},
    scope::{AsyncScope, Scope, ScopedHandle, ScopedResult, async_scope, scope},
    shutdown::ShutdownTimeout,
    task_builder::{Priority, TaskBuilder, current_worker, spawn_local},
    task_local::{NotSet, TaskLocal, TaskLocalScope},
};
use self::{registry::Lane, shared::Shared, worker::Local};
use crate::{oneshot, sync::asymmetric, task::JoinHandle};

/// A set of threads that run tasks.
///
/// # Dropping
/// Shuts down in order. Each worker finishes its current poll and polls nothing after that. The drop
/// blocks until all workers have finished, and joins their threads. Every future that is left is
/// dropped on one of the workers, and whoever waits for such a task learns that it was
/// [cancelled](crate::JoinError::Cancelled). A task that another thread is waking at that very
/// moment may be dropped by that thread; but if it is [pinned](Executor::spawn_on) to a worker, that
/// wake-up is waited for, and the worker drops it.
///
/// A poll that blocks delays the end, and what it waits for may be held by another task. So idle and
/// queued tasks are dropped while other workers are still in a poll; and if the poll is blocked in a
/// wait of this crate, such as [`block_on`](crate::block_on), by its own worker inside that wait. A
/// poll that waits elsewhere for what only a task of a single worker's own can give waits forever.
/// [`shutdown_timeout`](Executor::shutdown_timeout) and
/// [`shutdown_background`](Executor::shutdown_background) are for whoever must not block.
///
/// Dropped by one of its own tasks, it cannot wait for that task's worker: everything else is waited
/// for, and that worker leaves when the task's poll ends. So it is with a worker that waits, in a
/// drop of an executor, for the very poll that drops this one: two executors whose tasks drop each
/// other both end. But no poll may wait for such a drop in another way: neither by blocking until
/// the dropping task has ended, nor in a [`join`] whose other side drops the executor. Each would
/// wait for the other forever.
///
/// On Windows the destructor of a thread-local must not drop it, or both wait forever: no thread
/// ends there while such a destructor runs ([more](crate#systems)).
///
/// # Forks
/// The child of a `fork` inherits an executor, the [global](Executor::global) one too, without its threads. To drop it there is
/// good, and does nothing: its memory, its tasks and their futures stay as they are. All else must be left alone there, handles
/// and wakers of its tasks included: nothing would ever run, and a lock that some thread held at the fork stays locked. So must
/// the global one, which `joint::spawn` uses, once the parent has used it.
///
/// An executor that the child starts works like any other. The parent takes no notice. A task that forks must not return in the
/// child: that would go on as a worker.
///
/// # Sandboxes
/// On Linux the first executor of a process finds out whether it may use the system call `membarrier`, and all executors rely on that
/// from then on. A seccomp filter that does not allow the call has to be installed before the first executor is started: the
/// executors then do without it. If it is refused later, the next worker that needs it ends the program with a message that says
/// so, as it could neither go on nor wait, and no executor is built any more.
///
/// # Detached tasks
/// A task whose handle was detached, or that was [spawned so](Executor::spawn_detached), lives until it ends, or until the executor is
/// dropped. When it waits, and its last waker is dropped, nobody can ever wake it: then its future is dropped, as if it had been
/// cancelled.
///
/// # Panics of tasks
/// A task that panics ends; its panic is for whoever awaits it. The worker goes on.
///
/// # Example
/// ```
/// let executor = joint::Executor::builder().workers(2).build()?;
/// let sum = executor.spawn(async {
///     let parts: Vec<_> = (0..10u64).map(|i| joint::spawn(async move { i * i })).collect();
///     let mut sum = 0;
///     for part in parts {
///         sum += part.await;
///     }
///     sum
/// });
/// assert_eq!(joint::block_on(sum), 285);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Executor {
    shared: Arc<Shared>,
    /// By the workers' indexes. None, once it has been shut down.
    threads: Vec<shutdown::Thread>,
}

impl Executor {
    /// The settings of a new executor.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The executor for those who have none of their own: it has a worker for each processor, and starts when it is first used.
    ///
    /// # Panics
    /// When it cannot be started, because the system gives no threads.
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Executor> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            let started = Self::builder()
                .thread_name(|i| alloc::format!("joint-global-{i}"))
                .build();
            started.unwrap_or_else(|error| panic!("cannot start the global executor: {error}"))
        })
    }

    fn start(workers: usize, settings: Builder) -> io::Result<Self> {
        /// Counts the workers that were not started as gone, also when a thread's name panics.
        struct Missing<'a>(&'a Shared, usize);
        impl Drop for Missing<'_> {
            fn drop(&mut self) {
                self.0.never_came(self.1);
            }
        }
        asymmetric::prepare()?;
        let queues = || -> Vec<_> { (0..workers).map(|_| Worker::new_fifo()).collect() };
        let (normal, high) = (queues(), queues());
        // The first steal or growth of a queue sets up, under a lock, what all queues of the program share. Done here, it is not
        // half done at a fork that comes later.
        let _nothing = normal[0].stealer().steal();
        let stealers = |queues: &[Worker<_>]| queues.iter().map(Worker::stealer).collect();
        let shared = Arc::new(Shared::new(
            stealers(&normal),
            stealers(&high),
            settings.hooks,
        ));
        let mut executor = Self {
            shared: shared.clone(),
            threads: Vec::with_capacity(workers),
        };
        // Dropped before the executor, which waits for those that were started.
        let mut missing = Missing(&shared, workers);
        for (index, (normal, high)) in normal.into_iter().zip(high).enumerate() {
            let local = Local::new(shared.clone(), index, normal, high);
            let mut thread = thread::Builder::new().name((settings.thread_name)(index));
            if let Some(size) = settings.stack_size {
                thread = thread.stack_size(size);
            }
            let (last, ended) = oneshot::channel();
            let handle = thread.spawn(move || {
                let _last = last;
                local.main();
            })?;
            executor.threads.push(shutdown::Thread { handle, ended });
            missing.1 -= 1;
        }
        Ok(executor)
    }

    /// Starts a task. It may run at once, on any of the threads.
    ///
    /// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on by itself.
    ///
    /// Called on one of the executor's own workers, it takes that worker's queue, as [`spawn`] does.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().build()?;
    /// let handle = executor.spawn(async { 1 + 1 });
    /// assert_eq!(joint::block_on(handle), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let spawned = Location::caller();
        current::with_worker_of(&raw const *self.shared, |local| match local {
            Some(local) => local.spawn(spawned, future),
            None => self.spawn_outside(spawned, future),
        })
    }

    /// Starts a task that nobody waits for. It may run at once, on any of the threads. Its output is dropped where it ends.
    ///
    /// It costs less than to [`spawn`](Executor::spawn) it and to [`detach`](JoinHandle::detach) its handle: there is no handle.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().build()?;
    /// let (sender, receiver) = joint::oneshot::channel();
    /// executor.spawn_detached(async move { sender.send(5).unwrap() });
    /// assert_eq!(joint::block_on(receiver), Ok(5));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_detached<F>(&self, future: F)
    where
        F: Future + Send + 'static,
    {
        let spawned = Location::caller();
        current::with_worker_of(&raw const *self.shared, |local| match local {
            Some(local) => local.spawn_detached(spawned, future),
            None => self.spawn_detached_outside(spawned, future),
        });
    }

    fn spawn_detached_outside<F>(&self, spawned: &'static Location<'static>, future: F)
    where
        F: Future + Send + 'static,
    {
        let runnable = task_builder::new_detached(spawned, future);
        task_builder::launch(&self.shared, None, runnable, Lane::Normal);
    }

    /// What its workers share.
    #[cfg(feature = "io")]
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether the calling thread is one of its workers.
    fn runs_this_thread(&self) -> bool {
        current::with_worker_of(&raw const *self.shared, |local| local.is_some())
    }

    fn spawn_outside<F>(
        &self,
        spawned: &'static Location<'static>,
        future: F,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, handle) = task_builder::new_task(spawned, future);
        task_builder::launch(&self.shared, None, runnable, Lane::Normal);
        handle
    }

    /// How many workers it has.
    pub fn workers(&self) -> usize {
        self.shared.workers()
    }

    /// What it has done so far. Each count is right by itself; they are not taken at one instant. When nothing happens in the
    /// executor any more, as far as the caller knows, they agree: all that was spawned has ended or is live.
    ///
    /// # Cost
    /// Some loads for each worker here. The workers pay a store for what they count, to memory of their own.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().workers(1).build()?;
    /// let never = executor.spawn(std::future::pending::<()>());
    /// joint::block_on(executor.spawn(async {}));
    /// let metrics = executor.metrics();
    /// assert_eq!((metrics.spawned, metrics.finished, metrics.live()), (2, 1, 1));
    /// # drop(never);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        Metrics::of(&self.shared)
    }

    /// What its workers have done lately, if [`Builder::trace`] has asked for it.
    ///
    /// # Cost
    /// A copy of all that is kept. Each worker has to wait for the copy of its own part when it has something to keep meanwhile.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().workers(2).trace(10_000).build()?;
    /// joint::block_on(executor.task().name("hello").spawn(async {}));
    /// let trace = executor.trace().unwrap();
    /// let mut json = Vec::new();
    /// trace.write_to(&mut json)?;
    /// assert!(String::from_utf8(json).unwrap().contains("\"hello\""));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "trace")]
    pub fn trace(&self) -> Option<Trace> {
        let recorder = self.shared.hooks.recorder.as_ref()?;
        Some(recorder.read())
    }
}

// All that is shared is guarded by atomics and locks, and no user code runs while a lock is held.
impl UnwindSafe for Executor {}
impl RefUnwindSafe for Executor {}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("metrics", &self.metrics())
            .finish()
    }
}

/// Starts a task: on the executor whose task calls this, or in whose [`block_on`](Executor::block_on) it is called, or else on
/// the [global](Executor::global) one. The latter is so inside [`joint::block_on`](crate::block_on) too, which belongs to no
/// executor.
///
/// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on by itself.
///
/// From inside of a task it is the cheapest way to start another: it goes to the worker's own queue.
///
/// # Panics
/// When the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// let handle = joint::spawn(async { "hello" });
/// assert_eq!(joint::block_on(handle), "hello");
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let spawned = Location::caller();
    current::with_current(|local| match local {
        Some(local) => local.spawn(spawned, future),
        None => entered::ambient().spawn_outside(spawned, future),
    })
}

/// Starts a task that nobody waits for: on the executor whose task calls this, or else on the [global](Executor::global) one. See
/// [`Executor::spawn_detached`].
///
/// # Panics
/// When the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// let (sender, receiver) = joint::oneshot::channel();
/// joint::spawn_detached(async move { sender.send(5).unwrap() });
/// assert_eq!(joint::block_on(receiver), Ok(5));
/// ```
#[track_caller]
pub fn spawn_detached<F>(future: F)
where
    F: Future + Send + 'static,
{
    let spawned = Location::caller();
    current::with_current(|local| match local {
        Some(local) => local.spawn_detached(spawned, future),
        None => entered::ambient().spawn_detached_outside(spawned, future),
    });
}

/// Lets the other tasks that are due on the same worker run first.
///
/// The task goes to the end of its worker's queue. Under another executor it is woken at once, and what comes of that is that
/// executor's choice.
///
/// # Example
/// ```
/// joint::block_on(async {
///     joint::yield_now().await;
/// });
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
