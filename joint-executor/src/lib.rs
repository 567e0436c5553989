//! A work-stealing executor: tasks on many threads, with timers, sockets and other descriptors.
//!
//! An [`Executor`] is a set of threads, its *workers*, that run tasks. Each worker has queues of
//! its own, and an idle worker takes tasks from those of others if their polls take long. Programs
//! that need only one executor use [`spawn`], which starts the [global](Executor::global) one.
//!
//! | to | use |
//! |---|---|
//! | start a task, from anywhere | [`spawn`], [`spawn_detached`] |
//! | start one whose first part runs at once, on the caller's stack | [`spawn_now`] |
//! | start one with a name, a priority or a worker of its own | [`TaskBuilder`] |
//! | start one that is not `Send` | [`spawn_local`] on a worker, or a [`LocalExecutor`] |
//! | start tasks that borrow | [`scope()`], [`async_scope`] |
//! | join many tasks in the order in which they end | [`JoinSet`] |
//! | split work in two | [`join()`] for functions, [`join_async()`] for futures |
//! | let other tasks run first, always or every 128 operations | [`yield_now()`], [`point()`] |
//! | wait for a time, or for a descriptor (feature `io`) | [`time`], [`io`] |
//! | carry values along with a task | [`TaskLocal`] |
//! | call a function that blocks | [`spawn_blocking`] |
//! | wait on a thread that is not a worker | [`block_on`], [`Executor::block_on`] |
//! | pass one value on | [`oneshot`] |
//! | use one executor from many places | [`Handle`] |
//! | configure an executor, observe it, shut it down | [`Builder`], [`Executor::metrics`], [`Executor`] |
//! | drive the workers yourself, on threads of your own | [`hosted`] |
//!
//! # Example
//! ```
//! use joint_executor::{Executor, block_on, spawn};
//!
//! let executor = Executor::builder().workers(2).build()?;
//! let sum = executor.spawn(async {
//!     // Inside a task, `spawn` uses the executor that runs the task.
//!     let parts: Vec<_> = (1..=10u64).map(|n| spawn(async move { n * n })).collect();
//!     let mut sum = 0;
//!     for part in parts {
//!         sum += part.await;
//!     }
//!     sum
//! });
//! assert_eq!(block_on(sum), 385);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! **Dropping a [`JoinHandle`] cancels its task**, unlike in std and tokio. Keep the handle, call
//! [`detach`](JoinHandle::detach) on it, or use [`spawn_detached`].
//!
//! # Features
//! `io`, on by default: the module [`io`]. Each executor serves descriptors as it does timers.
//!
//! `dump`, on by default: [`Dump`], which says what the tasks wait for. Without it, the package is
//! built in less time.
//!
//! `futures-core`: the trait `Stream` for [`time::Interval`], listeners and [`JoinSet`], and
//! `FusedFuture` for what is awaited once.
//!
//! `serde`: `Serialize` for [`Metrics`], [`WorkerMetrics`], [`Dump`] and [`TaskDump`].
//!
//! `tracing`: each task of the executor has a span of the crate [tracing](https://docs.rs/tracing),
//! with level debug, target `joint::task`, name `runtime.spawn`, and the fields `task.name`, `kind`
//! (`normal`, `high`, `pinned` or `local`), `loc.file`, `loc.line` and `loc.col`. `tokio-console`
//! knows tasks by these names, so a program that starts `console-subscriber` shows its tasks
//! there. The span is entered whenever the future is polled or dropped. It has no parent, and
//! follows from the span in which the task was spawned.
//!
//! # Fairness
//! No task that is due waits forever behind other tasks, however they wake each other and however
//! many are spawned. A worker runs what its tasks spawn newest first, and what is woken oldest
//! first. A recursion that spawns a task for each call therefore runs depth first: the number of
//! its tasks that exist at a time grows with its depth and the number of workers, and not with the
//! number of its calls.
//!
//! | the oldest task that | runs within |
//! |---|---|
//! | was woken or has yielded | 34 runs |
//! | was spawned or woken by a thread that is not a worker | 136 runs, unless another worker takes it |
//! | is pinned to the worker | 80 runs |
//! | was spawned by a task on this worker | 512 runs |
//!
//! Tasks that are always due have their turns about equally often, on whichever worker they were
//! queued: busy workers even out their queues once in a millisecond, or after each run if that
//! takes longer.
//!
//! Not every run counts: `docs/executor.md` in the repository says which do. Tasks of
//! [high priority](Priority::High) run first, but at most 32 in a row. A task whose descriptors and
//! timers are always ready gives way after 128 operations, the [budget](joint::budget) of
//! each poll.
//!
//! # From the environment
//! `JOINT_WORKERS` sets the number of workers of each executor whose [`Builder`] does not say it,
//! and of the global one. With a bad value, [`Builder::build`] returns an error, and the global
//! executor panics. `RUST_MIN_STACK`, of [`std::thread`], sets the size of a worker's stack in the
//! same way.
//!
//! # Blocking
//! A poll that blocks its thread blocks a worker. The other workers take over the tasks in its
//! queues, usually within one or two milliseconds, but not those that are pinned to it. Use
//! [`spawn_blocking`] for functions that block for longer, and for reading and writing files: no
//! system reports when a file on a disk is ready.
//!
//! A worker in a blocking wait of `joint` or this crate, such as [`block_on`], runs no task, but it
//! still serves timers and descriptors: every millisecond, or every 5 milliseconds while another
//! worker does so. The wakers of tasks that wait for them run inside the wait, and so does the hook
//! [`on_wake`](Builder::on_wake). Do not hold a lock across the wait that one of them takes
//! ([more](joint::block_on#on-a-worker)). A `block_on` for a task that only this worker can run is
//! a deadlock, which [panics](joint::block_on#panics) after a second. If all workers are in such
//! waits while tasks are queued, the executor reports that once, on standard error, with the name
//! of a task that blocks one.
//!
//! # Timers and descriptors
//! A timer of [`time`] is served by the executor whose worker first polls it, and a descriptor of
//! [`io`] by the one whose worker registers it. On a thread that is not a worker, that is the
//! executor in whose [`block_on`](Executor::block_on) the thread is, or else the
//! [global](Executor::global) one.
//!
//! There is no extra thread for them. An idle worker waits until the earliest deadline or until a
//! descriptor is ready, and runs the tasks that become due. If all workers are busy, each checks
//! for both between two polls, after at most 32 runs, but for descriptors no more than once in 50
//! microseconds. If the idle worker that waits finds a task whose poll takes long, another idle
//! worker takes its place within 5 milliseconds.
//!
//! An executor with nothing to do sleeps: no thread wakes up before a timer is due or a descriptor
//! is ready. While some workers are busy and have tasks queued, one idle worker checks on them
//! about 1,000 times a second.
//!
//! # Systems
//! This table says how an idle worker waits if there is a timer or a descriptor.
//! While there are only timers, the worker parks its thread until the earliest deadline. From the
//! first descriptor on, it waits in the system's event queue:
//!
//! | system | source of events | source of time | state |
//! |---|---|---|---|
//! | Linux | `epoll`, edge-triggered; an `eventfd` interrupts it | one `timerfd`, to the nanosecond | tested on x86_64 with glibc and with musl, on i686, and in QEMU on aarch64, armv7, riscv64 and s390x |
//! | Android | `epoll`, by polling | one `timerfd`, to the nanosecond, by polling | type-checked, if its target is installed |
//! | macOS | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | FreeBSD | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | Windows | I/O completion port, for sockets only, by polling | the limit of the wait, rounded up to the next millisecond | tested in Wine |
//!
//! "Tested" means that the tests of this package, of `joint`, of `joint-flow` and of `joint-sim`
//! have been run there, and have passed. `cargo xtask foreign` builds them for other
//! processors and systems, runs them here or in an emulator, and says what it leaves out and why.
//! "Type-checked" means that `cargo xtask portable` type-checks the code for that system, but it
//! has not been run there. "By polling" means through the crate
//! [polling](https://docs.rs/polling), and that code is also tested on Linux. Packet pipes, and
//! timers that are descriptors (the example `fizz_buzz`), exist only on Linux. The crate needs
//! 64-bit atomics.
//!
//! On Windows no thread starts or ends while the destructor of a thread-local runs ([why]). A
//! destructor of a thread-local hangs there if it drops an `Executor`, because that waits for the
//! executor's threads to end. It also hangs if it waits for a thread that has not started yet: a
//! thread of `spawn_blocking`, or a worker of the global executor before its first use.
//!
//! [why]: https://doc.rust-lang.org/std/thread/struct.LocalKey.html#platform-specific-behavior
//!
//! # Shutdown
//! The drop of an [`Executor`] ends its workers in order, cancels every task that is left, and
//! waits for the threads. [`shutdown_timeout`](Executor::shutdown_timeout) limits the wait, and
//! [`shutdown_background`](Executor::shutdown_background) does not wait. The global executor is
//! never dropped, so its tasks end with `main`, as do functions of [`spawn_blocking`]: call
//! [`shutdown_timeout`](Executor::shutdown_timeout) to wait for those.
//!
//! # Memory
//! A task is one allocation of 48 bytes and its future, or its output if that is larger. A queued
//! task takes 8 bytes in a queue of its worker, and a task that waits 8 bytes among the owned
//! tasks. Both places grow to the largest number of tasks at a time, and keep that size until the
//! executor is dropped. Blocks of tasks are not kept: a program with many short tasks gains from a
//! fast `#[global_allocator]`.
//!
//! A task that has ended keeps its allocation while its handle or a waker of it exists. What was
//! polled last by that task (a socket, a timer, a set of tasks) keeps such a waker until it is
//! polled by another task, wakes, or is dropped. A future, or an output, of more than 16 KiB is in
//! an allocation [of its own](joint::task#memory), which is freed when the future has been dropped,
//! or the output taken or dropped.
//!
//! # Models
//! Built with `RUSTFLAGS="--cfg joint_loom"`, an executor runs on [loom](https://docs.rs/loom), so
//! code that uses it can be model-checked. In a model, [`Builder::build`] starts the workers as
//! threads of loom, and the drop of the executor joins them. Two workers leave room for two other
//! threads, because loom has at most five with the main one.
//!
//! Everything works there but what needs the system: descriptors, [`spawn_blocking`] and the global
//! executor. Time passes for a thread only while it waits with a limit, and such a wait ends as
//! soon as another thread has run. A poll that needs a large stack needs a larger
//! [`stack_size`](Builder::stack_size) than loom's default.
//!
//! A run has about a thousand operations. Allow loom more branches, bound the preemptions, and
//! explore only the part that matters, between `loom::explore` and `loom::stop_exploring`. The
//! program `loom-tests/examples/whole_executor.rs` in the repository does that.
//!
//! # How it works
//! `docs/executor.md` in the repository has the rest: the order of the queues with all bounds, what
//! idle workers do, which calls wait for other threads, and what each path costs in atomic
//! operations and in cache lines that move between cores.
//!
#![cfg_attr(not(feature = "io"), doc = "[`io`]: #features")]
#![cfg_attr(not(feature = "dump"), doc = "[`Dump`]: #features")]
#![cfg_attr(not(feature = "dump"), doc = "[`TaskDump`]: #features")]
// # Words
// Worker, LIFO slot, local queue, injector, searching, parked, driver, reactor, budget and shutdown
// mean what they mean elsewhere. These are ours alone:
//
// | ours | the nearest known term | file |
// |---|---|---|
// | ambient, entered | a non-worker thread's current executor (tokio: `enter`) | `entered.rs` |
// | arrive, leave | the two shutdown barriers: last poll over, worker exits | `gate.rs` |
// | away | of a hosted worker: it sleeps while its thread does something else | `sleep.rs` |
// | forks | rayon's deque of stack jobs | `fork_join/` |
// | gap | the unfinished push of Vyukov's MPSC queue | `inbox.rs` |
// | keeper | the worker that parks on the driver | `driver/` |
// | lane | a priority, or the one worker that a task is pinned to | `registry.rs` |
// | lookout | a worker that searches, or that parks with a timeout to search again (it *watches*) | `sleep.rs` |
// | registry | owned tasks; a task is *entered* and *struck off* | `registry.rs` |
// | stranger | code that is not the executor's: wakers, hooks, schedule functions, closures | `worker/state.rs` |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg(target_has_atomic = "64")]

extern crate alloc;

use alloc::sync::Arc;
use core::{
    fmt,
    future::Future,
    panic::{Location, RefUnwindSafe, UnwindSafe},
};
use std::sync::OnceLock;

mod arrivals;
mod blocking;
mod blocking_pool;
mod builder;
mod calls;
pub mod chance;
pub(crate) mod deques;
pub(crate) mod driver;
mod driver_handle;
#[cfg(feature = "dump")]
mod dump;
mod entered;
pub(crate) mod fences;
pub(crate) mod fork_join;
pub(crate) mod gate;
mod guard;
mod handle;
mod hooks;
pub mod hosted;
pub(crate) mod inbox;
#[cfg(feature = "io")]
pub mod io;
mod join;
mod join_async;
mod join_set;
mod latch;
mod local;
mod metrics;
mod padded;
mod policy;
mod process;
mod punctual;
pub(crate) mod registry;
pub(crate) mod ring;
pub(crate) mod room;
mod scope;
mod shutdown;
pub(crate) mod sleep;
mod span;
mod task_builder;
mod task_guard;
mod task_info;
mod task_local;
mod threads;
pub mod time;
#[cfg(feature = "dump")]
mod times;
#[cfg(test)]
#[path = "../../tests/common/wakes.rs"]
mod wakes;
mod who;
pub(crate) mod worker;
mod yield_now;

pub(crate) use self::driver_handle::DriverHandle;
pub use self::{
    builder::Builder,
    handle::Handle,
    hooks::StealInfo,
    join::join,
    metrics::{Metrics, WorkerMetrics},
    scope::{AsyncScope, Scope, async_scope, scope},
    shutdown::ShutdownTimeout,
    task_builder::{Priority, TaskBuilder, spawn_local, spawn_local_now},
    task_guard::{TaskGuard, spawn_now_with},
    task_local::TaskLocalScope,
    yield_now::{Point, YieldNow, yield_now},
};
#[cfg(feature = "dump")]
pub use self::{
    dump::{Dump, TaskDump, WaitsFor, waiting_for},
    times::TaskTimes,
};
// Each by itself: rustdoc finds an item of a private module by the aliases of this line alone.
#[doc(alias = "unblock")]
#[doc(alias = "block_in_place")]
pub use self::blocking::spawn_blocking;
#[doc(alias = "zip")]
#[doc(alias = "join!")]
pub use self::join_async::join_async;
#[doc(alias = "FuturesUnordered")]
#[doc(alias = "TaskTracker")]
#[doc(alias = "join_all")]
pub use self::join_set::JoinSet;
#[doc(alias = "LocalSet")]
pub use self::local::LocalExecutor;
#[doc(alias = "ScopedTask")]
pub use self::scope::ScopedHandle;
#[doc(alias = "current_thread_index")]
#[doc(alias = "worker_index")]
pub use self::task_builder::current_worker;
#[doc(alias = "TaskMeta")]
pub use self::task_info::TaskInfo;
#[doc(alias = "LocalKey")]
pub use self::task_local::TaskLocal;
#[doc(alias = "consume_budget")]
pub use self::yield_now::point;
pub use joint::{JoinError, JoinHandle, block_on, oneshot, task::TaskEnd};

/// What a program asks about its tasks. For authors of executors, [`joint::task`] has the rest.
pub mod task {
    pub use joint::task::{
        AbortHandle, CancelledTask, Id, PanicPayload, id, set_panic_hook, try_id,
    };
}

/// What to use for the things that this crate does not have. `docs/ecosystem.md` in the repository
/// has a program for each, and for TLS, HTTP, files and child processes.
///
/// | for | use |
/// |---|---|
/// | channels of many values | `async-channel`, `tokio`'s `sync`, or the streams of `joint-flow` |
/// | mutexes, semaphores and notifications | `async-lock`, `tokio`'s `sync`, or the locks and triggers of `joint-flow` |
/// | the first of several futures | `or` of `futures-lite`, `select!` of `futures-util`, or `race` of `joint-flow` |
/// | signals | `signal-hook`, whose pipe is read as a socket of this crate |
#[doc(alias = "select")]
#[doc(alias = "mpsc")]
#[doc(alias = "Semaphore")]
#[doc(alias = "Notify")]
#[doc(alias = "ctrl_c")]
pub mod ecosystem {}

/// The parts of the crate that its models need. It exists only under the model-checking cfg, and
/// promises nothing.
#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model;

use self::{
    registry::Lane,
    worker::{
        current,
        launch::{launch, new_detached, new_task},
        shared::{Runnable, Shared},
        start::start,
    },
};

/// A set of threads that run tasks.
///
/// [`Builder::build`] starts one, and [`Executor::global`] starts the global one when it is first
/// used. A program may have several. Each has its own workers, queues, timers and descriptors.
///
/// | to | use |
/// |---|---|
/// | start a task | [`spawn`](Executor::spawn), [`spawn_now`](Executor::spawn_now), [`spawn_detached`](Executor::spawn_detached), [`spawn_on`](Executor::spawn_on), [`spawn_blocking`](Executor::spawn_blocking), [`TaskBuilder`] |
/// | wait for a future on a thread that is not a worker | [`block_on`](Executor::block_on) |
/// | run a function that splits its work with [`join()`] on the workers | [`install`](Executor::install) |
/// | observe it | [`metrics`](Executor::metrics), the [hooks](Builder#hooks), and a `dump` of what its tasks wait for (feature `dump`) |
/// | use it from many places | [`handle`](Executor::handle), or an `Arc` of it |
/// | shut it down | the drop, [`shutdown_timeout`](Executor::shutdown_timeout), [`shutdown_background`](Executor::shutdown_background) |
///
/// The [crate](crate#example) has an example.
///
/// # Detached tasks
/// A task that was detached, or spawned by [`spawn_detached`](Executor::spawn_detached), lives
/// until it ends, or until the executor is dropped. If its last waker is dropped while it waits,
/// nothing can wake it any more, so its future is dropped as if it had been cancelled.
///
/// # Panics of tasks
/// A task that panics ends, and its waiter gets the panic. The worker continues.
///
/// # Dropping
/// Shuts down in order. Each worker finishes its current poll and polls nothing after that. The
/// drop blocks until all workers have finished, and joins their threads. Every remaining future is
/// dropped on one of the workers, and the waiter of its task learns that the task was
/// [cancelled](joint::JoinError::Cancelled). There is one exception: a task that another thread is
/// waking at that moment. If it is [pinned](Executor::spawn_on) to a worker, the worker waits for
/// the wake-up, and drops the task itself. Otherwise nobody waits. A thread that is started for it
/// drops the future, soon after the wake-up, which may be after this drop has returned. The wake-up
/// itself drops no future, because its caller may hold any lock. Only where no thread can be
/// started it must: if the system refuses, on targets without threads, and in an executor that
/// belongs to a [`Host`](hosted::Host), such as a simulation.
///
/// A future that is spawned on an executor that has ended is dropped by the thread that spawns it,
/// and so is one that the drop of another future spawns at the end.
///
/// To shut down an executor without blocking, or with a limit on how long the call blocks, use
/// [`shutdown_background`](Executor::shutdown_background) or
/// [`shutdown_timeout`](Executor::shutdown_timeout).
///
/// A poll that blocks delays the end, and what it waits for may be held by another task. Idle and
/// queued tasks are therefore dropped while that poll is still blocked: by the other workers, or,
/// if none is free and the poll is blocked in a wait of `joint` or of this crate, such as
/// [`block_on`], by its own worker inside that wait. The same holds for the drop
/// of a future that blocks. If a poll is blocked elsewhere, such as in a channel of `std`, and
/// waits for something that only its own worker can drop, the drop of the executor never returns.
/// That is so for a task that is pinned to that worker, and for any task if no other worker is
/// free. Nor does it return if the drop of a future waits for a poll that is blocked until the end,
/// and no other worker is free: the future may be dropped inside that very wait.
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
/// its tasks and their futures stay as they are. A spawn, a timer or a descriptor that would need
/// one of its threads panics. Leave everything else alone there, including handles and wakers of
/// its tasks: nothing would ever run, and a lock that another thread held at the fork stays locked.
/// If the parent has used the global executor, [`joint_executor::spawn`](crate::spawn) and the
/// timers work in the child only inside an executor that the child has started.
///
/// An executor that the child starts works like any other, and the parent takes no notice of it. A
/// task that forks must not return in the child, because it would continue there as a worker.
#[doc(alias = "Runtime")]
#[doc(alias = "ThreadPool")]
pub struct Executor {
    shared: Arc<Shared>,
    /// Whether the drop shuts the executor down. That of a [`Handle`] does not.
    is_owner: bool,
    /// Whether the threads are the callers', so that the drop does not wait for them.
    is_hosted: bool,
    /// The host that the executor belongs to.
    host: Option<Arc<dyn hosted::Host>>,
}

static GLOBAL: OnceLock<Executor> = OnceLock::new();

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
        GLOBAL.get_or_init(|| {
            let started = Self::builder()
                .thread_name(|i| alloc::format!("joint-global-{i}"))
                .start();
            started.unwrap_or_else(|error| panic!("cannot start the global executor: {error}"))
        })
    }

    fn is_global(&self) -> bool {
        GLOBAL
            .get()
            .is_some_and(|global| Arc::ptr_eq(&global.shared, &self.shared))
    }

    /// Starts a task. It may run at once, on any of the threads.
    ///
    /// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on
    /// by itself.
    ///
    /// If it is called on one of the executor's own workers, the task goes to that worker, as with
    /// [`spawn`], and runs there before those that were spawned earlier.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (runnable, handle) = new_task(Location::caller(), future);
        self.launch(runnable);
        handle
    }

    /// Starts a task whose first poll is made by this call, as
    /// [`joint_executor::spawn_now`](crate::spawn_now) does.
    ///
    /// If this thread is not one of the executor's workers, the first poll runs as code of
    /// [`enter`](Executor::enter) does, so that timers and descriptors are those of this executor.
    /// Then the task runs on the workers. The end of the executor does not wait for such a poll. If
    /// the task waits after it, this thread drops the future.
    #[track_caller]
    pub fn spawn_now<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (runnable, handle) = new_task(Location::caller(), future);
        current::with_worker_of(&raw const *self.shared, |worker| match worker {
            Some(worker) => worker.start(runnable),
            None => self.start_outside(runnable),
        });
        handle
    }

    fn start_outside(&self, runnable: Runnable) {
        hosted::check_place(self);
        start(&self.shared, None, &raw const *self, runnable, Lane::Normal);
    }

    /// Starts a task that nobody waits for. It may run at once, on any of the threads. Its output
    /// is dropped where it ends.
    ///
    /// It costs less than [`spawn`](Executor::spawn) and [`detach`](JoinHandle::detach), because
    /// there is no handle.
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
    /// A lock, and a few loads for each worker and for each other thread that has spawned tasks.
    /// All of them pay a store to memory of their own for each count.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(1).build()?;
    /// let never = executor.spawn(std::future::pending::<()>());
    /// joint_executor::block_on(executor.spawn(async {}));
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
/// [`joint_executor::block_on`](crate::block_on) belongs to no executor, and changes nothing about
/// that.
///
/// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on by
/// itself.
///
/// Inside a task this is the cheapest way to start another task, which goes to the worker's own
/// queue.
///
/// # Panics
/// If the global executor is needed and cannot be started.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let (runnable, handle) = new_task(Location::caller(), future);
    launch_here(runnable);
    handle
}

/// Starts a task on the executor that [`spawn`] uses, and polls it for the first time before this
/// returns, on the caller's stack.
///
/// | after that poll | the task |
/// |---|---|
/// | ready | has ended. It has been in no queue, no other worker was told of it, and the handle gives its output without waiting |
/// | pending | waits as any other. Its first waker queues it |
/// | pending, and woken meanwhile, as by [`yield_now`](crate::yield_now()) | is queued as any other |
///
/// It pays where many tasks end in their first poll, such as an answer from a cache, and where the
/// first part of a task must come before what its spawner does next. A task that computes for long
/// delays its spawner, and nothing else can run it meanwhile: use [`spawn`].
///
/// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on by
/// itself.
///
/// # What the first poll meets
/// It runs as a function that the caller calls, with what the caller holds: a lock that both take
/// is a deadlock, and a `RefCell` that both borrow panics in the task. It is not the caller's code
/// in other respects. It is the [current task](crate::task::id), is in its own span, and sees no
/// [`TaskLocal`] value and no [`LocalExecutor`] of the caller. The hooks for a poll are called
/// around it. A panic becomes the task's result. After this call all that is the caller's again.
///
/// Its operations use up the [budget](joint::budget) of the caller's poll. An operation that is
/// refused queues the task. A task that it wakes runs after the caller's poll, on this worker or
/// another, as if the caller had woken it.
///
/// # When it is queued instead
/// * If 16 tasks are being started so on this thread already, one inside the other. A recursion of
///   any depth therefore needs a stack for 16.
/// * If only another worker may run it ([`TaskBuilder::on_worker`]).
/// * If the executor has been shut down: as any late task, it is cancelled.
/// * If a simulation (`joint-sim`) or the hook [`on_start`](Builder::on_start) decides so.
///   A program must therefore not rely on the order for more than its speed.
///
/// # Elsewhere
/// C#'s asynchronous methods, Swift's `Task.immediate`, Kotlin's `CoroutineStart.UNDISPATCHED` and
/// C++'s eager coroutines begin so, and so do the actors of Flow and the coroutines of Tao. tokio,
/// async-executor and smol have no such function: there, every task is queued.
///
/// # Cost
/// If the task is ready: on a worker [one allocation](joint::task#memory) and one atomic
/// read-modify-write. On any other thread it takes two more, for the [counts](Executor::metrics),
/// and a lock if the task waits.
///
/// # Panics
/// If the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// use joint_executor::{Executor, spawn_now, yield_now};
///
/// let executor = Executor::builder().workers(1).build()?;
/// executor.block_on(async {
///     let ready = spawn_now(async { 6 * 7 });
///     assert!(ready.is_finished());
///     let waits = spawn_now(async { yield_now().await });
///     assert_eq!(ready.await, 42);
///     waits.await;
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias = "eager")]
#[doc(alias = "immediate")]
#[doc(alias = "undispatched")]
#[track_caller]
pub fn spawn_now<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let (runnable, handle) = new_task(Location::caller(), future);
    start_here(runnable);
    handle
}

#[inline]
fn start_here(runnable: Runnable) {
    current::with_current(|worker| match worker {
        Some(worker) => worker.start(runnable),
        None => entered::ambient().start_outside(runnable),
    });
}

/// Starts a task that nobody waits for, on the executor that [`spawn`] uses. See
/// [`Executor::spawn_detached`].
///
/// # Panics
/// If the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// let (sender, receiver) = joint_executor::oneshot::channel();
/// joint_executor::spawn_detached(async move { sender.send(5).unwrap() });
/// assert_eq!(joint_executor::block_on(receiver), Ok(5));
/// ```
#[track_caller]
pub fn spawn_detached<F>(future: F)
where
    F: Future + Send + 'static,
{
    launch_here(new_detached(Location::caller(), future));
}

#[inline]
fn launch_here(runnable: Runnable) {
    current::with_current(|worker| match worker {
        Some(worker) => worker.launch(runnable),
        None => launch_elsewhere(runnable),
    });
}

/// Launches a task from a thread that is not a worker. Kept apart, so that a worker's path inlines.
#[cold]
fn launch_elsewhere(runnable: Runnable) {
    entered::ambient().launch_outside(runnable);
}
