//! A work-stealing executor: tasks on many threads.
//!
//! Each worker has queues of its own. Idle workers steal from them if polls take long or if their
//! owner is stuck in one. Tasks spawned from other threads arrive through an injector. A task that
//! waited for a task that ends runs next on the same worker. A worker with nothing to do watches
//! the other workers while they are busy, and then sleeps (`sleep.rs` has the proof that no wake-up
//! is missed).
//!
//! A worker runs what its tasks spawn newest first, and what is woken oldest first. A recursion
//! that spawns a task for each call therefore runs depth first: the number of its tasks that exist
//! at a time grows with its depth and the number of workers, and not with the number of its calls.
//! A task that is awaited right after its spawn runs next, unless another one is due by the bounds
//! below.
//!
//! There is one exception: a worker that already has 16,384 tasks of one of these two kinds, or
//! more, puts further ones into the injector. They run oldest first, on any worker.
//!
//! # Fairness
//! No task that is due waits forever behind other tasks, however they wake each other and however
//! many are spawned. A worker runs
//!
//! * the task that waited for the task that has just ended, if that ended here: at most 16 such
//!   runs in a row. The bounds below count only the other runs;
//! * its tasks of [high priority](Priority::High), oldest first: at most 32 in a row while it has
//!   others;
//! * the tasks that were spawned by tasks on this worker, newest first: at most 32 in a row while
//!   it has tasks of the next kind. The oldest of them runs within 512 runs of the two kinds;
//! * the other tasks in its own queue, which were woken, have yielded, or were taken from
//!   elsewhere, oldest first: at most 32 in a row while it has spawned ones. The oldest runs within
//!   33 runs of the two kinds. At least one in 64 of all runs is of the two kinds while there are
//!   any;
//! * the tasks that are pinned to it, oldest first: the oldest within 80 runs, and at least one in
//!   eight runs while there are more;
//! * the tasks in the injector, in batches of up to 64: the oldest of normal priority within 61
//!   runs, unless another worker takes it first. Those of high priority join the worker's own in
//!   the same time.
//!
//! A task whose descriptors and timers are always ready gives way after 128 operations: that is the
//! [budget](crate::io#fairness) of each poll. Its worker then checks the driver before it runs the
//! next task, and the injector, unless one of its last eight runs came from there.
//!
//! A worker that is in a long poll runs nothing else. Other workers take over the tasks in its
//! queue: an idle one within a millisecond or two, and if none is idle, a busy one that checks
//! every 61 to 976 runs. Tasks that are pinned to the worker wait.
//!
//! # Idle workers
//! The workers of an executor with nothing to do sleep, and no timer wakes them before it is due,
//! nor any descriptor before it is ready. Once a busy worker has queued a task, unless it runs that
//! one next and has no other, one of the idle workers, and only one, watches while any worker is
//! busy: it looks whether a worker is stuck, at first after 50 microseconds, then after twice that
//! time, up to a millisecond. That is about 1,000 wake-ups a second for the whole executor, more if
//! it finds tasks to steal, and none if all workers are busy or all are idle.
//!
//! # Progress
//! A spawn or a wake-up waits for no other thread, unless it is on a worker whose queue is full and
//! has to grow. Nor does a thief. A worker that takes a task from its own queue, or whose queue
//! grows, waits while a thief moves tasks out of that queue: at most 256 of them, which takes about
//! a microsecond. If the system takes the thief's processor away just then, the worker waits
//! until the thief runs again. The worker sleeps meanwhile, so the thief runs even if it has a
//! lower real-time priority, which [`Builder::on_thread_start`] can set.
//!
//! # Timers and descriptors
//! A timer of [`time`] is served by the executor whose worker first polls it, and a
//! descriptor of [`io`] by the one whose worker registers it. On a thread that is not a
//! worker, that is the executor in whose [`block_on`](Executor::block_on) the thread is, or else
//! the [global](Executor::global) one.
//!
//! There is no extra thread for them. Each executor has a *driver*, in which an idle worker waits
//! until the earliest deadline or until a descriptor is ready. Tasks that become due run on that
//! worker. If all workers are busy, each checks the driver between two polls, after at most 61
//! runs: its own timers and those of one other worker, a different one each time; and the
//! descriptors, but at most every 20 microseconds. If the worker that waits in the driver gets
//! something to do, it returns after that. If it stays away, another idle worker takes over:
//! immediately if recent polls took 50 microseconds or more, otherwise within 5 milliseconds.
//!
//! A worker whose poll is blocked in a wait of this crate, such as [`block_on`],
//! checks the driver inside that wait, and wakes the waiters of timers and descriptors. Waking a
//! task of an executor runs no code of that task, but the hook [`on_wake`](Builder::on_wake) and
//! another crate's waker may run any code. See [`block_on`](joint::block_on#on-a-worker) for what
//! that means for locks. A blocked worker checks every millisecond, or every 5 milliseconds while
//! another worker keeps the driver. A descriptor, or a timer that another thread arms meanwhile,
//! may be late by that much.
//!
//! # Many cores
//! The table counts the cache lines that move to a core because another core has written them. A
//! task is 48 bytes and its future, so a small one lies on one line or two, which are counted as
//! one here.
//!
//! | path | lines that move |
//! |---|---|
//! | spawn, run, wake, wait, end, join, cancel, arm a timer and fire it, all on one worker | none |
//! | a push, while no worker begins or ends a search | none |
//! | a push, after a worker has begun or ended a search | 1: the counts of idle workers |
//! | an idle worker looks at another worker | 1: its counters; and up to 3 of its queues and 2 of its forks, if those have changed |
//! | an idle worker steals tasks | 1 of the queues, or 2 if some of the tasks were not spawned there; 1 for each 8 tasks, which are the places in the queue; and the tasks |
//! | the next run of the worker that they were stolen from | the 1 or 2 of the queues, back |
//! | a stolen task is joined by a task that did not wait for it yet | 1: the task, back |
//! | it is joined by a task that waited for it | 1: that task, which runs next on the thief |
//! | a task is woken by another worker, which runs it | 1: the task |
//! | a task that has waited ends on another worker than the one that it waited on | 1: its entry among the owned tasks, of which 8 are on a line; and 1 if a third worker was there since: the list of entries that go back |
//! | a task is spawned by a thread that is not a worker | 1: the injector; and 2 if another such thread has spawned since: the count of such spawns, and the task that is last in the injector |
//! | a task is woken by a thread that is not a worker | 2: the task, and the injector; and 2 if another such thread has woken a task since: the last task in the injector, and the count of the executor's owners |
//! | a worker takes tasks from the injector | 1: the injector; and the tasks |
//! | a timer is fired by another worker | 1: the queue of timers, and what a wake-up costs |
//! | a descriptor becomes ready, in the driver of another worker | 1: the waiters, and what a wake-up costs |
//!
//! While all workers are busy with tasks of their own, no line is written by two of them, with two
//! exceptions, which are rare. If there are descriptors, each worker takes the lock of the driver,
//! at most once in 20 microseconds. And the workers share the mean length of recent polls, which
//! each push reads. A worker that measures polls writes that length if it has changed by more than
//! an eighth. It measures the polls of the other workers every 61 to 976 runs, when it looks
//! whether one of them is stuck. It measures its own at most once in 64 runs, when it has run dry
//! but finds a task in the driver or the injector before it searches.
//!
//! # Cost in atomic operations
//! The table counts the atomic read-modify-writes of each path, once the executor has run for a
//! while, without those of the allocator. A lock takes two more, one to lock it and one to unlock
//! it, if no other thread wants it. A worker makes a full fence when it queues a task and when it
//! takes one from its queues, when a task waits for the first time, and when a task ends that has
//! waited. A [`join()`] makes one or two. In an executor of one worker, only the first wait and the
//! end have fences. [`Builder::asymmetric_fences`] moves the fences to the rare side. A loom model
//! of the whole executor checks the counts (`loom-tests/tests/executor.rs`).
//!
//! | path | read-modify-writes | locks | full fences | with one worker |
//! |---|---|---|---|---|
//! | yield, with no other task queued | 0 | 0 | 1 | 0 |
//! | yield, with others queued | 0 | 0 | 2 | 0 |
//! | spawn a detached task, and run it | 0 | 0 | 2 | 0 |
//! | spawn a task, run it, and then await it | 1 | 0 | 2 | 0 |
//! | spawn a task and await it, run it, and run the task that waited | 5 | 0 | 2 | 0 |
//! | wake a task that waits, and run it until it waits again | 2 | 0 | 2 | 0 |
//! | abort a task that waits, and run it to its end | 2 | 0 | 3 | 1 |
//! | drop the handle of a task that waits, and run it to its end | 2 | 0 | 3 | 1 |
//! | spawn a detached task from another thread, and run it | 4 | 0 | 1 | 1 |
//! | wake a task from another thread, and run it until it waits again | 7 | 0 | 1 | 1 |
//! | arm a timer, and drop it | 2 | 2 | 0 | 0 |
//! | arm a timer that becomes the earliest, and drop it | 3 | 2 | 1 | 0 |
//! | spawn a task that sleeps, run it, wake it in time, and run it to its end | 5 | 3 | 8 | 2 |
//!
//! # Memory
//! A task that is queued takes 8 bytes in a queue of its worker, and a task that waits 8 bytes
//! among the owned tasks. Both places grow to the largest number of tasks at a time, and keep that
//! size until the executor is dropped. The memory of tasks that have ended is kept for others: see
//! [the crate](crate#memory).
//!
//! # Overview
//! | to | use |
//! |---|---|
//! | start a task, from anywhere | [`spawn`], [`spawn_detached`] |
//! | start one with a name, a priority or a worker of its own | [`TaskBuilder`] |
//! | start one that is not `Send` | [`spawn_local`] on a worker, or a [`LocalExecutor`] |
//! | start tasks that borrow | [`scope()`], [`async_scope`] |
//! | join many tasks in the order in which they end | [`JoinSet`] |
//! | split work in two | [`join()`], [`join_async()`] |
//! | let other tasks run first | [`yield_now()`] |
//! | carry values along with a task | [`TaskLocal`] |
//! | call a function that blocks (feature `blocking`) | `spawn_blocking` |
//! | wait on a thread that is not a worker | [`block_on`], [`Executor::block_on`] |
//! | run an executor of your own, and shut it down | [`Executor`] |
//! | drive the workers yourself, on threads of your own | [`hosted`] |

// # Words
// Worker, LIFO slot, local queue, injector, searching, parked, driver, reactor, budget and shutdown
// mean what they mean elsewhere. The words below are ours alone.
//
// | ours | the nearest known term | file |
// |---|---|---|
// | ambient, entered | a non-worker thread's current executor (tokio: `enter`) | `entered.rs` |
// | apart | without the context of the task below on the stack | `apart.rs` |
// | arrive, leave | the two shutdown barriers: last poll over, worker exits | `gate.rs` |
// | attend, attendant | process the driver: fire timers, dispatch I/O events | `worker/attend.rs` |
// | away | a hosted worker that sleeps while its thread does something else | `sleep.rs` |
// | `Biased` | a biased lock | `biased.rs` |
// | credit, `ask` | a licence to push jobs past the usual limit | `fork_join/forks.rs` |
// | discard, dispose | drop a runnable, which cancels its task | `worker/mod.rs` |
// | forks, job | rayon's deque of stack jobs | `fork_join/` |
// | gap | the unfinished push of Vyukov's MPSC queue | `inbox.rs` |
// | gate | the phases of shutdown: closed, quiet, terminated | `gate.rs` |
// | `hurry` | interrupt a keeper that sleeps past a new deadline | `driver/keeper.rs` |
// | inbox | an MPSC queue for runnables from other threads | `inbox.rs`, `local/inbox.rs` |
// | keeper | the worker that parks on the driver, or holds its lock | `driver/keeper.rs` |
// | lane | a priority, or the one worker that a task is pinned to | `registry.rs` |
// | linger | spin on the injector before a search | `worker/lookout.rs` |
// | lookout | an idle worker that searches, or that parks with a timeout | `worker/lookout.rs` |
// | outside, elsewhere | on a thread that is not a worker (tokio: remote) | all |
// | origin, `EntryLink` | the executor and the lane of a task; its link to its entry among the owned tasks | `registry.rs` |
// | patience | how long a poll may last before a thief takes one task | `worker/lookout.rs` |
// | register, registry | owned tasks | `registry.rs`, `local/register.rs` |
// | rescue | an active worker's theft from a stuck worker | `worker/lookout.rs` |
// | reserve, on duty | a standby for the keeper, parked with a timeout | `driver/reserve.rs` |
// | rest | to park, with a timeout (watch) or without (sleep) | `sleep.rs` |
// | ring, bell | interrupt the driver's wait (mio: `Waker`) | `driver/keeper.rs` |
// | rise | return from a park | `driver/keeper.rs` |
// | rouse | unpark every worker, blocked ones included | `sleep.rs` |
// | short count, unsure | a partial read or write, and one that proves nothing | `driver/reactor/` |
// | strike off | remove from the owned tasks | `registry.rs` |
// | turn | the scheduling policy: whose turn it is | `worker/queues/turn.rs` |
// | urgent | the last check before a park | `sleep.rs` |
// | visit, often | a worker's check of the driver; a frequent one | `worker/visits.rs` |
// | watch | park with a timeout, and then search again | `sleep.rs` |

#![cfg(target_has_atomic = "64")]

extern crate alloc;

use alloc::{sync::Arc, vec::Vec};
use core::{
    fmt,
    future::Future,
    panic::{Location, RefUnwindSafe, UnwindSafe},
};
use std::sync::OnceLock;

mod apart;
pub(crate) mod biased;
mod blocking;
mod builder;
pub(crate) mod deques;
pub(crate) mod driver;
#[cfg(feature = "io")]
mod driver_handle;
mod entered;
pub(crate) mod fences;
pub(crate) mod fork_join;
pub(crate) mod gate;
mod guard;
mod hooks;
pub mod hosted;
pub(crate) mod inbox;
#[cfg(all(test, target_os = "linux", not(miri)))]
mod interrupt;
#[cfg(feature = "io")]
pub mod io;
mod join;
mod join_async;
mod join_set;
pub mod local;
mod metrics;
#[cfg(feature = "io")]
mod prefetch;
mod process;
#[cfg(feature = "io")]
mod punctual;
pub(crate) mod registry;
pub(crate) mod room;
mod scope;
mod shutdown;
pub(crate) mod sleep;
mod span;
mod task_builder;
mod task_info;
mod task_local;
#[cfg(feature = "io")]
pub mod time;
pub(crate) mod worker;
mod yield_now;

#[cfg(feature = "io")]
pub(crate) use self::driver_handle::DriverHandle;
pub use self::{
    blocking::spawn_blocking,
    builder::{Builder, WorkerThread},
    hooks::StealInfo,
    join::join,
    join_async::join_async,
    join_set::JoinSet,
    local::{LocalExecutor, LocalMetrics},
    metrics::{Metrics, WorkerMetrics},
    scope::{AsyncScope, Scope, ScopedHandle, ScopedResult, async_scope, scope},
    shutdown::ShutdownTimeout,
    task_builder::{Priority, TaskBuilder, current_worker, spawn_local},
    task_info::TaskInfo,
    task_local::{NotSet, TaskLocal, TaskLocalScope},
    yield_now::{YieldNow, yield_now},
};
pub use joint::{JoinError, JoinHandle, block_on, oneshot, shared, task::TaskEnd};

/// The parts of the crate that its models need. It exists only under the model-checking cfg, and
/// promises nothing.
#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model;

/// The examples of the README and of the lessons.
#[cfg(doctest)]
mod pages;

use self::{
    fences::Fences,
    hooks::Hooks,
    registry::Lane,
    worker::{
        Worker, current,
        launch::{launch, new_detached, new_task},
        shared::{Decides, Lanes, Runnable, Shared},
    },
};

/// A set of threads that run tasks.
///
/// # Dropping
/// Shuts down in order. Each worker finishes its current poll and polls nothing after that. The
/// drop blocks until all workers have finished, and joins their threads. Every remaining future is
/// dropped on one of the workers, and the waiter of its task learns that the task was
/// [cancelled](joint::JoinError::Cancelled). There is one exception: a task that another thread is
/// waking at that moment may be dropped by that thread. If such a task is
/// [pinned](Executor::spawn_on) to a worker, the worker instead waits for the wake-up, and drops
/// the task itself.
///
/// A poll that blocks delays the end, and what it waits for may be held by another task. Idle and
/// queued tasks are therefore dropped while that poll is still blocked: by the other workers, or,
/// if none is free and the poll is blocked in a wait of this crate, such as
/// [`block_on`], by its own worker inside that wait. The same holds for the drop
/// of a future that blocks. If a poll is blocked elsewhere, such as in a channel of `std`, and
/// waits for something that only its own worker can drop, the drop of the executor never returns.
/// That is so for a task that is pinned to that worker, and for any task if no other worker is
/// free. Nor does it return if the drop of a future waits for a poll that is blocked until the end,
/// and no other worker is free: the future may be dropped inside that very wait.
///
/// To shut down an executor without blocking, or with a limit on how long the call blocks, use
/// [`shutdown_background`](Executor::shutdown_background) or
/// [`shutdown_timeout`](Executor::shutdown_timeout).
///
/// If one of its own tasks drops the executor, the drop cannot wait for that task's worker. It
/// waits for everything else, and that worker exits when the task's poll ends. No poll may wait for
/// such a drop, such as by blocking until the dropping task has ended, or in a [`join()`] whose
/// other side drops the executor. The poll and the drop would wait for each other forever. So would
/// two executors if a task of each drops the other: shut one of them down by
/// [`shutdown_background`](Executor::shutdown_background).
///
/// On Windows the destructor of a thread-local must not drop an executor. No thread ends there
/// while such a destructor runs, so both would wait forever ([more](crate#systems)).
///
/// # Forks
/// The child of a `fork` inherits every executor, including the [global](Executor::global) one,
/// without its threads. The child may drop an inherited executor. That does nothing: its memory,
/// its tasks and their futures stay as they are. Leave everything else alone there, including
/// handles and wakers of its tasks. Nothing would ever run, and a lock that another thread held at
/// the fork stays locked. If the parent has used the global executor, the child must not use it:
/// [`joint_executor::spawn`](crate::spawn) works there only inside an executor that the child has
/// started.
///
/// An executor that the child starts works like any other, and the parent takes no notice of it. A
/// task that forks must not return in the child, because it would continue there as a worker.
///
/// # Detached tasks
/// A task that was detached, or spawned by [`spawn_detached`](Executor::spawn_detached), lives
/// until it ends, or until the executor is dropped. If its last waker is dropped while it waits,
/// nothing can wake it any more, so its future is dropped as if it had been cancelled.
///
/// # Panics of tasks
/// A task that panics ends, and its waiter gets the panic. The worker continues.
///
/// # Example
/// ```
/// let executor = joint_executor::Executor::builder().workers(2).build()?;
/// let sum = executor.spawn(async {
///     let part = |i| joint_executor::spawn(async move { i * i });
///     let parts: Vec<_> = (0..10u64).map(part).collect();
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
    /// The threads, by the workers' indexes. Empty once the executor has been shut down.
    threads: Vec<shutdown::Thread>,
    driven_by: hosted::Threads,
    /// The host that the executor belongs to.
    host: Option<Arc<dyn hosted::Host>>,
}

impl Executor {
    /// Returns a builder with the settings of a new executor.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Returns the executor that [`joint_executor::spawn`](crate::spawn) uses on a thread that is
    /// in no other executor. It has a worker for each processor, starts when it is first used, and
    /// is never dropped.
    ///
    /// # Panics
    /// If it cannot be started, for example because the system refuses to start a thread.
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Executor> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            let started = Self::builder()
                .thread_name(|i| alloc::format!("joint-global-{i}"))
                .build();
            started.unwrap_or_else(|error| panic!("cannot start the global executor: {error}"))
        })
    }

    /// Makes an executor whose workers have not been started, and the workers. `fences` are those
    /// among the workers.
    pub(crate) fn without_threads(
        workers: usize,
        fences: Fences,
        hooks: Hooks,
        decides: Decides,
    ) -> (Self, Vec<Worker>) {
        let lanes = Lanes::of(workers, fences);
        let shared = Arc::new(Shared::new(decides, &lanes, fences, hooks));
        let worker = |(index, lanes)| Worker::new(shared.clone(), index, lanes);
        let all = lanes.into_iter().enumerate().map(worker).collect();
        let executor = Self {
            shared,
            threads: Vec::with_capacity(workers),
            driven_by: hosted::Threads::Own,
            host: None,
        };
        (executor, all)
    }

    /// Starts a task. It may run at once, on any of the threads.
    ///
    /// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on
    /// by itself.
    ///
    /// If it is called on one of the executor's own workers, the task goes to that worker, as with
    /// [`spawn`], and runs there before those that were spawned earlier.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().build()?;
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
        let (runnable, handle) = new_task(Location::caller(), future);
        self.launch(runnable);
        handle
    }

    /// Starts a task that nobody waits for. It may run at once, on any of the threads. Its output
    /// is dropped where it ends.
    ///
    /// It costs less than [`spawn`](Executor::spawn) and [`detach`](JoinHandle::detach), because
    /// there is no handle.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().build()?;
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
        self.launch(new_detached(Location::caller(), future));
    }

    #[inline]
    fn launch(&self, runnable: Runnable) {
        current::with_worker_of(&raw const *self.shared, |worker| match worker {
            Some(worker) => worker.launch(runnable),
            None => self.launch_outside(runnable),
        });
    }

    fn launch_outside(&self, runnable: Runnable) {
        hosted::check_place(self);
        launch(&self.shared, None, runnable, Lane::Normal);
    }

    /// What the workers share.
    #[cfg(feature = "io")]
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns whether the calling thread is one of the workers.
    fn runs_this_thread(&self) -> bool {
        current::with_worker_of(&raw const *self.shared, |worker| worker.is_some())
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.shared.workers()
    }

    /// Returns counts of what the executor has done so far. Each count is correct by itself, but
    /// they are not read at one instant. If the caller knows that nothing happens in the executor
    /// any more, the counts agree: every task that was spawned has ended or is live.
    ///
    /// # Cost
    /// A few loads for each worker. The workers pay a store to their own memory for each count.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(1).build()?;
    /// let never = executor.spawn(std::future::pending::<()>());
    /// joint::block_on(executor.spawn(async {}));
    /// let metrics = executor.metrics();
    /// assert_eq!((metrics.spawned, metrics.finished, metrics.live()), (2, 1, 1));
    /// # drop(never);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        self.shared.metrics()
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

/// Starts a task on the current executor. That is the one whose task calls this, or in whose
/// [`block_on`](Executor::block_on) it is called, or else the [global](Executor::global) one.
/// [`joint::block_on`] belongs to no executor, and changes nothing about that.
///
/// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on by
/// itself.
///
/// Inside a task this is the cheapest way to start another task, which goes to the worker's own
/// queue.
///
/// # Panics
/// If the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// let handle = joint_executor::spawn(async { "hello" });
/// assert_eq!(joint::block_on(handle), "hello");
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (runnable, handle) = new_task(Location::caller(), future);
    launch_here(runnable);
    handle
}

/// Starts a task that nobody waits for, on the executor that [`spawn`] uses. See
/// [`Executor::spawn_detached`].
///
/// # Panics
/// If the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// let (sender, receiver) = joint::oneshot::channel();
/// joint_executor::spawn_detached(async move { sender.send(5).unwrap() });
/// assert_eq!(joint::block_on(receiver), Ok(5));
/// ```
#[track_caller]
pub fn spawn_detached<F>(future: F)
where
    F: Future + Send + 'static,
{
    launch_here(new_detached(Location::caller(), future));
}

/// Launches a task on the current executor.
#[inline]
fn launch_here(runnable: Runnable) {
    current::with_current(|worker| match worker {
        Some(worker) => worker.launch(runnable),
        None => launch_elsewhere(runnable),
    });
}

/// Launches a task on a thread that is not a worker. Apart, so that the way of a worker is inlined.
#[cold]
fn launch_elsewhere(runnable: Runnable) {
    entered::ambient().launch_outside(runnable);
}
