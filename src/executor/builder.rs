//! [`Builder`]: the settings of an executor.

use alloc::{boxed::Box, format, string::String};
use core::fmt;
use std::{io, thread};

use super::{
    Executor,
    hooks::Hooks,
    sleep::MOST_WORKERS,
    task_info::{TaskEnd, TaskInfo},
};

/// The settings of a new [`Executor`].
///
/// # Hooks
/// Functions that the executor calls when something happens in it: `on_spawn`, `before_poll`, `after_poll` and `on_end` for each
/// task, `on_thread_start`, `on_thread_stop`, `on_park` and `on_unpark` for each worker. Each can be set once: set again, it takes
/// the place of what was set before. None costs anything where it is not set, but for a branch.
///
/// They are called on the thread where it happens, and hold it up. They may spawn and wake tasks; one that spawns in
/// `on_spawn` calls itself. A panic of a hook is caught, after the panic hook of the program has told of it: neither the worker
/// nor the task takes harm.
///
/// # Example
/// ```
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
///
/// let polls = Arc::new(AtomicUsize::new(0));
/// let executor = joint::Executor::builder()
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
#[must_use = "nothing is started before `build`"]
pub struct Builder {
    workers: Option<usize>,
    pub(super) thread_name: Box<dyn Fn(usize) -> String + Send + Sync>,
    pub(super) stack_size: Option<usize>,
    pub(super) hooks: Hooks,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            workers: None,
            thread_name: Box::new(|index| format!("joint-{index}")),
            stack_size: None,
            hooks: Hooks::default(),
        }
    }

    /// How many workers, each a thread. By default as many as the program may use processors
    /// ([`std::thread::available_parallelism`]), or one where that is not known.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The name of each worker's thread, by its index from 0. By default `joint-0` and so on.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.thread_name = Box::new(name);
        self
    }

    /// The size of each worker's stack, in bytes. By default what [`std::thread`] gives.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Called for each task that is spawned, by the thread that spawns it, before it can run.
    pub fn on_spawn(mut self, hook: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.on_spawn = Some(Box::new(hook));
        self
    }

    /// Called before each run of a task, by its worker. A run polls the future; or drops it, when the task was cancelled.
    pub fn before_poll(mut self, hook: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.before_poll = Some(Box::new(hook));
        self
    }

    /// Called after each run of a task, by its worker, before anything else is run there. Where the run has ended the task, this
    /// comes after [`on_end`](Builder::on_end).
    ///
    /// Other threads may run the task again by now, or have seen its end.
    pub fn after_poll(mut self, hook: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.after_poll = Some(Box::new(hook));
        self
    }

    /// Called once for each task, when its future has been dropped, by the thread that has dropped it, before those who wait
    /// for the task learn of its end. It is called for the tasks that a shutdown cancels too.
    ///
    /// That thread is a worker, or else one that woke, cancelled or spawned the task while the executor went.
    pub fn on_end(mut self, hook: impl Fn(&TaskInfo<'_>, TaskEnd) + Send + Sync + 'static) -> Self {
        self.hooks.on_end = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index from 0, before it runs anything.
    pub fn on_thread_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_start = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index, as the last thing: after it has dropped the futures that it had to drop. The thread
    /// is no worker any more then, and a task that is spawned goes to the global executor.
    ///
    /// Workers stop together, once none of them is in a poll, so that those that have ended theirs
    /// can drop what the others wait for. A poll that waits for another worker to stop waits
    /// forever.
    pub fn on_thread_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_stop = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index, when it is about to sleep: because there is nothing to do, or for a while, to look
    /// after busy workers again then. It may find in the last moment that it must not sleep.
    pub fn on_park(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_park = Some(Box::new(hook));
        self
    }

    /// Called by each worker, with its index, after each call of [`on_park`](Builder::on_park), when it does not sleep any more.
    pub fn on_unpark(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_unpark = Some(Box::new(hook));
        self
    }

    /// Keeps what the workers do, for [`Executor::trace`]: of each worker, and of all other threads together, the last `records`. There
    /// are about four for a run of a task.
    ///
    /// # Cost
    /// Up to 64 bytes for a record. The clock is read and an uncontended lock taken for each; for a run of a task with a name, its name is copied.
    #[cfg(feature = "trace")]
    pub fn trace(mut self, records: usize) -> Self {
        self.hooks.trace = Some(records);
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when `workers` is 0, or more than a million; what the system
    /// says when it gives no thread. No thread is left behind then. [`io::ErrorKind::Unsupported`]
    /// when the system refuses what the first executor relies on: see
    /// [sandboxes](Executor#sandboxes).
    ///
    /// # Panics
    /// When a thread's name contains a nul byte.
    pub fn build(self) -> io::Result<Executor> {
        let default = || thread::available_parallelism().map_or(1, usize::from);
        let workers = self.workers.unwrap_or_else(default);
        if workers == 0 {
            let message = "an executor needs at least one worker: `workers(0)` was asked for";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if workers > MOST_WORKERS {
            let message =
                format!("an executor has at most {MOST_WORKERS} workers: {workers} were asked for");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Executor::start(workers, self)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
