//! [`Builder`]: the settings of an executor.

use alloc::{boxed::Box, format, string::String};
use core::fmt;
use std::{io, thread};

use super::{
    Executor,
    hooks::{Hooks, StealInfo},
    sleep::MOST_WORKERS,
    task_info::TaskInfo,
};
use joint::task::TaskEnd;

/// The settings of a new [`Executor`].
///
/// # Hooks
/// A hook is a function that the executor calls at a certain event: `on_spawn`, `on_wake`,
/// `before_poll`, `after_poll` and `on_end` for each task, and `on_thread_start`, `on_thread_stop`,
/// `on_park`, `on_unpark` and `on_steal` for each worker. Each hook can be set once. Setting it
/// again replaces the earlier function. A hook that is not set costs only a branch.
///
/// A hook is called on the thread on which the event happens, and delays that thread.
/// [`current_worker`](super::current_worker) says which worker that is. A hook may spawn and wake
/// tasks. If `on_spawn` spawns a task, it calls itself. A hook must not wait for the task that it
/// is called for, nor for the end of the executor. A panic of a hook is caught, after the program's
/// panic hook has reported it, and harms neither the worker nor the task.
///
/// The example `trace` records with these hooks what the workers do, and writes it as a file for
/// <https://ui.perfetto.dev>.
///
/// # Example
/// ```
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
///
/// let polls = Arc::new(AtomicUsize::new(0));
/// let executor = joint_executor::Executor::builder()
///     .workers(2)
///     .thread_name(|i| format!("worker-{i}"))
///     .stack_size(256 * 1024)
///     .before_poll({
///         let polls = polls.clone();
///         move |_| _ = polls.fetch_add(1, Ordering::Relaxed)
///     })
///     .build()?;
/// let name = executor.spawn(async { std::thread::current().name().map(String::from) });
/// assert!(joint::block_on(name).is_some_and(|name| name.starts_with("worker-")));
/// assert_eq!(polls.load(Ordering::Relaxed), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder {
    workers: Option<usize>,
    pub(super) thread_name: Box<dyn Fn(usize) -> String + Send + Sync>,
    pub(super) stack_size: Option<usize>,
    pub(super) asymmetric_fences: bool,
    pub(super) hooks: Hooks,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            workers: None,
            thread_name: Box::new(|index| format!("joint-{index}")),
            stack_size: None,
            asymmetric_fences: false,
            hooks: Hooks::default(),
        }
    }

    /// Sets the number of workers. Each is a thread. The default is the number of processors that
    /// the program may use ([`std::thread::available_parallelism`]), or one if that is not known.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the name of each worker's thread, by its index from 0. The default is `joint-0` and so
    /// on.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.thread_name = Box::new(name);
        self
    }

    /// Sets the size of each worker's stack, in bytes. The default is that of [`std::thread`].
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets whether the rare side of each race between workers makes the fence for both sides, by
    /// the system call `membarrier`. Only Linux has the call. The default is `false`.
    ///
    /// By default each push and each pop of a worker has a full fence, and so have the first wait
    /// of a task, the end of a task that has waited, and a [`join()`](crate::join()). With this
    /// setting none of them has one. Instead, each theft makes one call, and so does the last idle
    /// worker when it finds work or goes to sleep while others are busy. The call interrupts every
    /// processor that runs a thread of the program at that moment, so it takes longer the more of
    /// them there are: on a machine with two, 0.3 µs if the other one runs no thread of the
    /// program, and 3 µs if it does. Measure your program with both settings.
    ///
    /// [`build`](Builder::build) registers the program for the call, which takes up to 14 ms if the
    /// program has several threads.
    ///
    /// # Sandboxes
    /// If a seccomp filter refuses the call at that time, `build` returns an error. If a filter
    /// that was installed later refuses it, the next worker that needs the call writes a message to
    /// the standard error and **aborts the process**. It can neither continue without the call nor
    /// wait, because the other workers have made no fences.
    ///
    /// # What is checked
    /// No formal model of Rust's memory covers this setting. It relies on what Linux documents
    /// about the call, and on a compiler fence. The models of this crate check the ordinary fences.
    /// A simulation ignores the setting.
    pub fn asymmetric_fences(mut self, enabled: bool) -> Self {
        self.asymmetric_fences = enabled;
        self
    }

    /// Called for each task that is spawned, by the thread that spawns it, before it can run.
    pub fn on_spawn(mut self, hook: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.on_spawn = Some(Box::new(hook));
        self
    }

    /// Called each time a task becomes runnable again, before it can run: by the thread that wakes
    /// it, or, if it was woken during its own run, by its worker after that run. Each run of a task
    /// follows one call of this hook or of [`on_spawn`](Builder::on_spawn).
    ///
    /// The hook runs inside [`wake`](core::task::Waker::wake), and so under any lock that the
    /// caller of `wake` holds.
    ///
    /// # Example
    /// How long each task has been ready before it runs:
    /// ```
    /// use std::{collections::HashMap, sync::{Arc, Mutex}, time::{Duration, Instant}};
    ///
    /// let ready = Arc::new(Mutex::new(HashMap::new()));
    /// let longest = Arc::new(Mutex::new(Duration::ZERO));
    /// let executor = joint_executor::Executor::builder()
    ///     .on_spawn({
    ///         let ready = ready.clone();
    ///         move |task| _ = ready.lock().unwrap().insert(task.id(), Instant::now())
    ///     })
    ///     .on_wake({
    ///         let ready = ready.clone();
    ///         move |task| _ = ready.lock().unwrap().insert(task.id(), Instant::now())
    ///     })
    ///     .before_poll({
    ///         let longest = longest.clone();
    ///         move |task| {
    ///             let since = ready.lock().unwrap().remove(&task.id()).unwrap();
    ///             let mut longest = longest.lock().unwrap();
    ///             *longest = since.elapsed().max(*longest);
    ///         }
    ///     })
    ///     .build()?;
    /// joint::block_on(executor.spawn(joint_executor::yield_now()));
    /// assert!(*longest.lock().unwrap() > Duration::ZERO);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_wake(mut self, hook: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.on_wake = Some(Box::new(hook));
        self
    }

    /// Called before each run of a task, by its worker. A run polls the future, or drops it if the
    /// task was cancelled.
    pub fn before_poll(mut self, hook: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.before_poll = Some(Box::new(hook));
        self
    }

    /// Called after each run of a task, by its worker, before the worker runs anything else. If the
    /// run has ended the task, [`on_end`](Builder::on_end) is called before this.
    ///
    /// By this time other threads may run the task again, or may have seen its end.
    pub fn after_poll(mut self, hook: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.after_poll = Some(Box::new(hook));
        self
    }

    /// Called once for each task, after its future has been dropped, by the thread that has dropped
    /// it. The waiter of the task learns of the end only after that. Tasks that a shutdown cancels
    /// are included.
    ///
    /// The thread is a worker, or else a thread that woke, cancelled or spawned the task during the
    /// shutdown.
    pub fn on_end(mut self, hook: impl Fn(&TaskInfo<'_>, TaskEnd) + Send + Sync + 'static) -> Self {
        self.hooks.on_end = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index from 0, before it runs anything.
    pub fn on_thread_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_start = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index, as its last action, after it has dropped the futures
    /// that it had to drop. The thread is not a worker any more at that time, so a task that it
    /// spawns goes to the global executor.
    ///
    /// All workers stop together, once none of them is in a poll, so that a worker whose poll has
    /// ended can drop what another worker waits for. A poll that waits for another worker to stop
    /// therefore waits forever.
    pub fn on_thread_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_stop = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index, when it is about to sleep, either until it is woken,
    /// or for a limited time before it checks the busy workers again. The worker may still find at
    /// the last moment that it must not sleep.
    pub fn on_park(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_park = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index, after each call of [`on_park`](Builder::on_park),
    /// when it is awake again.
    pub fn on_unpark(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_unpark = Some(Box::new(hook));
        self
    }

    /// Called by a worker after it has taken tasks from the queues of another worker, before it
    /// runs any of them. Tasks that it takes from the executor's common queue are not stolen, and
    /// the side of a [`join`](crate::join()) is not a task.
    ///
    /// # Example
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    ///
    /// let stolen = Arc::new(AtomicUsize::new(0));
    /// let executor = joint_executor::Executor::builder()
    ///     .workers(2)
    ///     .on_steal({
    ///         let stolen = stolen.clone();
    ///         move |steal| {
    ///             assert_ne!(steal.thief, steal.victim);
    ///             stolen.fetch_add(steal.tasks, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// executor.block_on(async {
    ///     joint_executor::spawn(async {}).await;
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_steal(mut self, hook: impl Fn(&StealInfo) + Send + Sync + 'static) -> Self {
        self.hooks.on_steal = Some(Box::new(hook));
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// * [`io::ErrorKind::InvalidInput`] if `workers` is 0, or more than a million.
    /// * [`io::ErrorKind::Unsupported`] if [`asymmetric_fences`](Builder::asymmetric_fences) was
    ///   requested, and the system does not have them, or refuses them.
    /// * The system's error if a thread cannot be started. No thread is left behind then.
    ///
    /// # Panics
    /// If a thread's name contains a nul byte.
    pub fn build(self) -> io::Result<Executor> {
        let workers = self.workers.unwrap_or_else(default_workers);
        if workers == 0 {
            let message = "an executor needs at least one worker; do not pass 0 to `workers`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if workers > MOST_WORKERS {
            let message =
                format!("an executor has at most {MOST_WORKERS} workers; {workers} were requested");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Executor::start(workers, self)
    }
}

fn default_workers() -> usize {
    #[cfg(feature = "sim")]
    if let Some(world) = super::simulated::world() {
        return world.default_workers();
    }
    thread::available_parallelism().map_or(1, usize::from)
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
