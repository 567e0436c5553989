//! [`Builder`]: the settings of an executor.

use alloc::{boxed::Box, format, string::String, sync::Arc, vec::Vec};
use core::{fmt, time::Duration};
use std::{env, io, time::Instant};

use super::{
    Executor,
    blocking_pool::{Limits, Pool},
    fences::Fences,
    hooks::{Hooks, StealInfo},
    hosted::{self, BoundWorker, Host, HostedWorker},
    sleep::MOST_WORKERS,
    task_info::TaskInfo,
    threads::{self, Threads},
    worker::shared::{Decides, Shared},
};
use joint::task::{Id, TaskEnd};
use joint_switch::thread;

/// The settings of a new [`Executor`].
///
/// # Hooks
/// A hook is a function that the executor calls at a certain event: `on_spawn`, `on_wake`,
/// `before_poll`, `after_poll` and `on_end` for each task, which share
/// [data](Builder::task_data), and `on_thread_start`, `on_thread_stop`,
/// `on_park`, `on_unpark` and `on_steal` for each worker; and `on_push` and `on_timer` for owners
/// of [hosted workers](hosted). A hook can be set several times. The function that was set last is
/// called first. A hook that is not set costs only a branch.
///
/// A hook is called on the thread on which the event happens, and delays that thread.
/// [`current_worker`](super::current_worker) says which worker that is. A hook may spawn and wake
/// tasks. If `on_spawn` spawns a task, it calls itself. A hook must not wait for the task that it
/// is called for, nor for the end of the executor. A panic of a hook is caught, after the program's
/// panic hook has reported it, and harms neither the worker nor the task.
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
/// assert!(joint_executor::block_on(name).is_some_and(|name| name.starts_with("worker-")));
/// assert_eq!(polls.load(Ordering::Relaxed), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder {
    workers: Option<usize>,
    thread_name: Box<dyn Fn(usize) -> String + Send + Sync>,
    stack_size: Option<usize>,
    spawn_thread: Option<SpawnThread>,
    host: Option<Arc<dyn Host>>,
    hooks: Hooks,
    /// `None` if the process's threads are used.
    blocking: Option<Limits>,
}

type SpawnThread = Box<dyn FnMut(HostedWorker) -> io::Result<()> + Send + Sync>;

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            workers: None,
            thread_name: Box::new(|index| format!("joint-{index}")),
            stack_size: None,
            spawn_thread: None,
            host: None,
            hooks: Hooks::default(),
            blocking: None,
        }
    }

    /// Sets the number of workers. Each is a thread. The default is the number that the environment
    /// variable `JOINT_WORKERS` has. If that is not set, it is the number of processors that the
    /// program may use ([`std::thread::available_parallelism`]), or one if that is not known.
    #[doc(alias = "worker_threads")]
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

    /// Sets the size of each worker's stack, in bytes. The default is that of [`std::thread`],
    /// which the environment variable `RUST_MIN_STACK` changes.
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets a function that starts the workers' threads, instead of [`std::thread::Builder`]. It is
    /// called by [`build`](Builder::build), once for each worker, and must call
    /// [`HostedWorker::run`] on a new thread. A worker that is dropped instead ends
    /// the executor. [`thread_name`](Builder::thread_name) and
    /// [`stack_size`](Builder::stack_size) then do nothing.
    ///
    /// It is for threads that must be pinned to a processor, have a priority, live in a pool, or be
    /// started by the functions of another system. If you want to decide when a worker runs, see
    /// [`hosted`].
    ///
    /// The drop of the executor waits until these workers have ended, but not for the ends of their
    /// threads, which it does not know.
    ///
    /// # Example
    /// ```
    /// use std::thread;
    ///
    /// let executor = joint_executor::Executor::builder()
    ///     .workers(2)
    ///     .spawn_thread(|worker| {
    ///         let thread = thread::Builder::new().name(format!("own-{}", worker.index()));
    ///         thread.spawn(|| worker.run())?;
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// let name = executor.spawn(async { thread::current().name().map(String::from) });
    /// assert!(joint_executor::block_on(name).is_some_and(|name| name.starts_with("own-")));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawn_thread(
        mut self,
        spawn: impl FnMut(HostedWorker) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.spawn_thread = Some(Box::new(spawn));
        self
    }

    /// Gives the executor threads of its own for functions that block
    /// ([`spawn_blocking`](crate::spawn_blocking)), and sets how many they may be. The default is
    /// 512, if only [`thread_keep_alive`](Builder::thread_keep_alive) is set. Without either, all
    /// executors share the threads of the process, with these defaults.
    ///
    /// The threads exit when they are idle after the executor was shut down or dropped. In a
    /// [host](hosted::Host), which runs such functions itself, neither setting does anything.
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        self.blocking.get_or_insert_default().most = threads;
        self
    }

    /// Gives the executor threads of its own for functions that block, as
    /// [`max_blocking_threads`](Builder::max_blocking_threads) does, and sets how long one that is
    /// idle is kept. The default is 10 seconds. With zero, each exits after it has run what is
    /// queued.
    pub fn thread_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.blocking.get_or_insert_default().keep = keep_alive;
        self
    }

    /// Sets the host that the executor belongs to. The host shuts it down, and learns of threads
    /// that use it elsewhere.
    pub fn host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Starts the threads.
    ///
    /// On a thread that has [entered a host](hosted::enter), the host builds the executor.
    ///
    /// # Errors
    /// * [`io::ErrorKind::InvalidInput`] if the number of workers is 0 or more than 32,767, or if
    ///   it is not set and `JOINT_WORKERS` is no number; and if `max_blocking_threads` is 0.
    /// * The system's error if a thread cannot be started, or that of
    ///   [`spawn_thread`](Builder::spawn_thread). No worker is left behind then.
    ///
    /// # Panics
    /// If a thread's name contains a nul byte.
    #[inline]
    pub fn build(mut self) -> io::Result<Executor> {
        let host = hosted::host();
        self.check(host.as_deref())?;
        match host {
            Some(host) => host.build(self),
            None => self.start(),
        }
    }

    /// Makes the executor without threads. You get its workers, and [drive them](hosted).
    ///
    /// The settings for threads do nothing, and `workers` is the number of workers that you get.
    ///
    /// # Errors
    /// As for [`build`](Builder::build), except that no thread is started.
    pub fn build_hosted(mut self) -> io::Result<(Executor, Vec<HostedWorker>)> {
        self.without_threads(Decides::Workers)
    }

    /// Makes an executor whose one worker is this thread, while it is in
    /// [`block_on`](hosted::BoundWorker::block_on). Tasks, timers and descriptors are served there
    /// and nowhere else. While it is not, what other threads wait for on this executor does not
    /// come, such as a timer in their [`Executor::block_on`], and the wait says nothing.
    ///
    /// # Errors
    /// As for [`build_hosted`](Builder::build_hosted).
    #[inline]
    pub fn build_current_thread(self) -> io::Result<(Executor, BoundWorker)> {
        let (executor, mut workers) = self.workers(1).build_hosted()?;
        Ok((executor, workers.remove(0).bind()))
    }

    /// Makes the executor as [`build_hosted`](Builder::build_hosted) does, but its owner
    /// [chooses the tasks](hosted#choosing-the-tasks) that its workers run.
    ///
    /// # Errors
    /// As for [`build_hosted`](Builder::build_hosted).
    pub fn build_scheduled(mut self) -> io::Result<(Executor, Vec<HostedWorker>)> {
        self.without_threads(Decides::Owner)
    }

    /// Checks the settings, and sets the number of workers if it is not set yet, which it returns.
    fn check(&mut self, host: Option<&dyn Host>) -> io::Result<usize> {
        let refused = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message);
        if self.blocking.is_some_and(|limits| limits.most == 0) {
            return Err(refused(
                "`spawn_blocking` needs at least one thread; do not set `max_blocking_threads` to 0",
            ));
        }
        let workers = match (self.workers, host) {
            (Some(workers), _) => workers,
            (None, Some(host)) => host.default_workers(),
            (None, None) => default_workers().map_err(|message| refused(&message))?,
        };
        self.workers = Some(workers);
        match workers {
            0 => Err(refused(
                "an executor needs at least one worker; do not set `workers` or `JOINT_WORKERS` to 0",
            )),
            1..=MOST_WORKERS => Ok(workers),
            _ => Err(refused(&format!(
                "an executor has at most {MOST_WORKERS} workers; {workers} were requested"
            ))),
        }
    }

    fn without_threads(&mut self, decides: Decides) -> io::Result<(Executor, Vec<HostedWorker>)> {
        let workers = self.check(None)?;
        let fences = Fences::among(workers);
        let (shared, all) = Shared::with_workers(workers, fences, &mut self.hooks, decides);
        let (mut hosted, mut threads) = (Vec::new(), Vec::new());
        for worker in all {
            let (worker, thread) = HostedWorker::new(worker);
            hosted.push(worker);
            threads.push(thread);
        }
        *shared.threads() = Threads {
            all: threads,
            has_host: self.host.is_some(),
            ..Threads::default()
        };
        if let Some(limits) = self.blocking {
            shared.own_pool.get_or_init(|| Pool::new(limits));
        }
        let executor = Executor {
            shared,
            is_owner: true,
            is_hosted: true,
            host: self.host.take(),
        };
        Ok((executor, hosted))
    }

    /// Sets a function that makes a value for each task when it is spawned. All hooks for tasks get
    /// the value by [`TaskInfo::data`], and so does the task itself by [`TaskInfo::with_current`].
    ///
    /// The function is called by the thread that spawns the task, before
    /// [`on_spawn`](Builder::on_spawn). It sees the task that spawns this one, by
    /// [`TaskInfo::parent`], and so can inherit data, also from tasks that a library spawns.
    /// A function that was set before is replaced. If the function panics, the panic is caught as a
    /// hook's is, and the task has no data.
    ///
    /// The value is dropped once the task has ended, after [`on_end`](Builder::on_end), and after
    /// the last [`after_poll`](Builder::after_poll). Without such a function nothing is paid.
    ///
    /// # Cost
    /// Three allocations for each task, one of which is that of its [id](TaskInfo::id). A hook
    /// takes no lock to get at the data, and no atomic read-modify-write, except for `after_poll`,
    /// which takes two.
    pub fn task_data<D: Send + Sync + 'static>(
        mut self,
        make: impl Fn(&TaskInfo<'_>) -> D + Send + Sync + 'static,
    ) -> Self {
        self.hooks.task_data = Some(Box::new(move |task| Arc::new(make(task))));
        self
    }

    /// Called instead of the first poll of a task that is about to start on its spawner's stack
    /// ([`spawn_now`](crate::spawn_now)), with the task's id and a function that makes that poll.
    /// If the hook does not call the function, the task is queued, as [`spawn`](crate::spawn) does.
    /// A second call does nothing.
    ///
    /// With it an owner that chooses its [workers' tasks](hosted#choosing-the-tasks) delays such a
    /// start. If the hook is set several times, the function of the last one calls the one before.
    ///
    /// # Example
    /// ```
    /// let builder = joint_executor::Executor::builder().on_start(|_id, _start| {});
    /// let (executor, _worker) = builder.build_current_thread()?;
    /// let task = executor.spawn_now(async {});
    /// assert!(!task.is_finished(), "it is queued, and nobody drives the worker");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_start(mut self, hook: impl Fn(Id, &mut dyn FnMut()) + Send + Sync + 'static) -> Self {
        self.hooks.start = Some(match self.hooks.start.take() {
            None => Box::new(hook),
            Some(before) => {
                Box::new(move |task, start| hook(task, &mut || before(task, &mut *start)))
            }
        });
        self
    }

    #[cfg(feature = "dump")]
    pub(super) fn with_times(
        mut self,
        times: Arc<super::times::Times>,
        on_wait: joint::host::OnWait,
    ) -> Self {
        self.hooks.times = Some(times);
        self.hooks.on_wait = Some(on_wait);
        self
    }

    pub(super) fn start(mut self) -> io::Result<Executor> {
        // If a thread cannot be started, the workers that are left end before the executor, which
        // waits for those that were started.
        let (mut executor, all) = self.without_threads(Decides::Workers)?;
        executor.is_hosted = false;
        for worker in all {
            let index = worker.index();
            if let Some(spawn) = &mut self.spawn_thread {
                spawn(worker)?;
                continue;
            }
            let mut thread = thread::Builder::new().name((self.thread_name)(index));
            if let Some(size) = self.stack_size {
                thread = thread.stack_size(size);
            }
            let handle = threads::start(thread, Box::new(|| worker.run()))?;
            executor.shared.threads().all[index].handle = Some(handle);
        }
        Ok(executor)
    }
}

fn default_workers() -> Result<usize, String> {
    let Some(wanted) = env::var_os("JOINT_WORKERS") else {
        return Ok(std::thread::available_parallelism().map_or(1, usize::from));
    };
    let number = wanted.to_str().and_then(|wanted| wanted.parse().ok());
    number.ok_or_else(|| {
        format!("the environment variable `JOINT_WORKERS` is {wanted:?}, which is not a number of workers")
    })
}

/// Makes the setter of each hook. It sets the hook in front of those that were set before.
macro_rules! setters {
    ($($(#[$docs:meta])* $name:ident($($arg:ident: $of:ty),*);)*) => {
        impl Builder {
            $($(#[$docs])*
            pub fn $name(mut self, hook: impl Fn($($of),*) + Send + Sync + 'static) -> Self {
                let before = self.hooks.$name.take();
                self.hooks.$name = Some(match before {
                    None => Box::new(hook),
                    Some(before) => Box::new(move |$($arg),*| {
                        hook($($arg),*);
                        before($($arg),*);
                    }),
                });
                self
            })*
        }
    };
}

setters! {
    /// Called for each task that is spawned, by the thread that spawns it, before it can run.
    #[doc(alias = "on_task_spawn")]
    on_spawn(task: &TaskInfo<'_>);

    /// Called each time a task becomes runnable again, before it can run: by the thread that wakes
    /// it, or, if it was woken during its own run, by its worker after that run. Each run of a task
    /// follows one call of this hook or of [`on_spawn`](Builder::on_spawn).
    ///
    /// The hook runs inside [`wake`](core::task::Waker::wake), and so under any lock that the
    /// caller of `wake` holds.
    ///
    /// # Example
    /// The delay between a wake-up, or the spawn, and the poll that follows:
    /// ```
    /// use std::{sync::{Arc, Mutex}, time::{Duration, Instant}};
    ///
    /// struct Ready(Mutex<Instant>);
    ///
    /// let longest = Arc::new(Mutex::new(Duration::ZERO));
    /// let executor = joint_executor::Executor::builder()
    ///     .task_data(|_| Ready(Mutex::new(Instant::now())))
    ///     .on_wake(|task| *task.data::<Ready>().unwrap().0.lock().unwrap() = Instant::now())
    ///     .before_poll({
    ///         let longest = longest.clone();
    ///         move |task| {
    ///             let delay = task.data::<Ready>().unwrap().0.lock().unwrap().elapsed();
    ///             let mut longest = longest.lock().unwrap();
    ///             *longest = delay.max(*longest);
    ///         }
    ///     })
    ///     .build()?;
    /// joint_executor::block_on(executor.spawn(joint_executor::yield_now()));
    /// assert!(*longest.lock().unwrap() > Duration::ZERO);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    on_wake(task: &TaskInfo<'_>);

    /// Called before each run of a task, by its worker, and before a first poll by
    /// [`spawn_now`](crate::spawn_now), by the thread that makes it. A run polls the future, or
    /// drops it if the task was cancelled.
    #[doc(alias = "on_before_task_poll")]
    before_poll(task: &TaskInfo<'_>);

    /// Called after each run of a task, by the thread that has called
    /// [`before_poll`](Builder::before_poll), before that thread runs anything else. If the run has
    /// ended the task, [`on_end`](Builder::on_end) is called before this.
    ///
    /// By this time other threads may run the task again, or may have seen its end.
    #[doc(alias = "on_after_task_poll")]
    after_poll(task: &TaskInfo<'_>);

    /// Called once for each task, after its future has been dropped, by the thread that has dropped
    /// it. The waiter of the task learns of the end only after that. Tasks that a shutdown cancels
    /// are included.
    ///
    /// The thread is a worker, or else a thread that woke, cancelled or spawned the task during the
    /// shutdown.
    #[doc(alias = "on_task_terminate")]
    on_end(task: &TaskInfo<'_>, how: TaskEnd);

    /// Called by each worker, with its index from 0, before it runs anything.
    on_thread_start(worker: usize);

    /// Called by each worker, with its index, as its last action, after it has dropped the futures
    /// that it had to drop. The thread is not a worker any more at that time, so a task that it
    /// spawns goes to the global executor.
    ///
    /// All workers stop together, once none of them is in a poll, so that a worker whose poll has
    /// ended can drop what another worker waits for. A poll that waits for another worker to stop
    /// therefore waits forever.
    on_thread_stop(worker: usize);

    /// Called by each worker, with its index, when it is about to sleep, either until it is woken,
    /// or for a limited time before it checks the busy workers again. The worker may still find at
    /// the last moment that it must not sleep.
    #[doc(alias = "on_thread_park")]
    on_park(worker: usize);

    /// Called by each worker, with its index, after each call of [`on_park`](Builder::on_park),
    /// when it is awake again.
    #[doc(alias = "on_thread_unpark")]
    on_unpark(worker: usize);

    /// Called after a task was queued from elsewhere: by a thread that is not a worker, for another
    /// worker than the calling one, or because the calling worker's own queue was full.
    ///
    /// It is called in the middle of a spawn or a wake-up, so it should do little, such as to set a
    /// flag. An owner that chooses its [workers' tasks](hosted#choosing-the-tasks) learns by it
    /// that there is something to take.
    on_push();

    /// Called after a timer of this executor was armed, with its deadline, by the thread that has
    /// armed it.
    on_timer(deadline: Instant);

    /// Called by a worker after it has taken tasks from the queues of another worker, before it
    /// runs any of them. Tasks that it takes from the executor's common queue are not stolen, and
    /// the side of a [`join`](crate::join()) is not a task.
    on_steal(steal: &StealInfo);
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
