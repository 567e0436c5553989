//! [`Builder`]: the settings of a run.

use alloc::string::String;
use core::time::Duration;

use super::{check::Check, explore::Explore, faults::Faults, scheduler::Scheduler};

/// The settings of a simulation.
///
/// # Example
/// ```
/// use joint_sim::{Builder, Scheduler};
///
/// let outcome = Builder::new(3)
///     .scheduler(Scheduler::RoundRobin)
///     .run(async { joint_executor::spawn(async { 6 * 7 }).await })?;
/// assert_eq!(outcome.output, 42);
/// # Ok::<(), joint_sim::Failure>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `run` is called"]
pub struct Builder {
    pub(super) seed: u64,
    pub(super) scheduler: Scheduler,
    pub(super) faults: Faults,
    pub(super) expected_steps: u64,
    pub(super) workers: usize,
    pub(super) charge: Duration,
    pub(super) ignore_detached_panics: bool,
    pub(super) max_steps: u64,
    pub(super) max_time: Duration,
    pub(super) max_call_time: Duration,
    pub(super) max_poll_time: Duration,
    pub(super) keeps_trace: bool,
    /// Whether a run of a check that ends well fails if a future snoozes.
    pub(super) denies_snoozing: bool,
    /// The command that replays the run, if it is one of a check.
    pub(super) replay: Option<String>,
}

impl Builder {
    /// Creates the settings of a run with this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            scheduler: Scheduler::Random,
            faults: Faults::none(),
            expected_steps: 1_000,
            workers: 2,
            charge: Duration::ZERO,
            ignore_detached_panics: false,
            max_steps: u64::MAX,
            max_time: Duration::MAX,
            max_call_time: Duration::from_secs(10),
            max_poll_time: Duration::from_secs(60),
            keeps_trace: false,
            denies_snoozing: false,
            replay: None,
        }
    }

    /// Sets how the task that runs next is chosen. Otherwise it is [`Scheduler::Random`].
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Scheduler};
    /// use joint_executor::{spawn_detached, yield_now};
    /// use std::sync::Mutex;
    ///
    /// static ORDER: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    /// Builder::new(1).scheduler(Scheduler::RoundRobin).run(async {
    ///     for n in 0..4 {
    ///         spawn_detached(async move { ORDER.lock().unwrap().push(n) });
    ///     }
    ///     yield_now().await;
    /// })?;
    /// assert_eq!(*ORDER.lock().unwrap(), [0, 1, 2, 3]);
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub fn scheduler(mut self, scheduler: Scheduler) -> Self {
        self.scheduler = scheduler;
        self
    }

    /// Sets how many steps the run is expected to take at most, which [`Scheduler::Pct`] must know.
    /// Otherwise it is 1,000.
    ///
    /// [`Outcome::steps`] of an earlier run tells the number.
    ///
    /// [`Outcome::steps`]: super::Outcome::steps
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Scheduler};
    ///
    /// let program = || async {
    ///     for _ in 0..100 {
    ///         joint_executor::yield_now().await;
    ///     }
    /// };
    /// let steps = Builder::new(0).run(program())?.steps;
    /// let settings = Builder::new(1).scheduler(Scheduler::Pct { depth: 3 }).expected_steps(steps);
    /// assert_eq!(settings.run(program())?.steps, 101);
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub fn expected_steps(mut self, steps: u64) -> Self {
        self.expected_steps = steps;
        self
    }

    /// Sets whether everything that happens is kept, as a [`Trace`]. Otherwise it is not.
    ///
    /// [`Trace`]: super::Trace
    ///
    /// This takes memory for each spawn, wake-up and poll. It changes nothing in the run.
    ///
    /// # Example
    /// ```
    /// let outcome = joint_sim::Builder::new(1).trace(true).run(async {
    ///     joint_executor::spawn(async {}).await;
    /// })?;
    /// println!("{}", outcome.trace.unwrap().lanes());
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub fn trace(mut self, trace: bool) -> Self {
        self.keeps_trace = trace;
        self
    }
}

/// What has settings of its runs.
trait Runs {
    fn each_run(&mut self) -> &mut Builder;
}

impl Runs for Builder {
    fn each_run(&mut self) -> &mut Builder {
        self
    }
}

impl Runs for Check {
    fn each_run(&mut self) -> &mut Builder {
        &mut self.settings
    }
}

impl Runs for Explore {
    fn each_run(&mut self) -> &mut Builder {
        &mut self.settings
    }
}

/// Gives each type that has runs the same methods, one for each setting of a run.
macro_rules! settings {
    ($($own:tt)*) => {
        settings_of! { Builder: $($own)* }
        settings_of! { Check: $($own)* }
        settings_of! { Explore: $($own)* }
    };
}

macro_rules! settings_of {
    ($type:ident: $($(#[$doc:meta])* $setting:ident: $of:ty,)*) => {
        impl $type {$(
            $(#[$doc])*
            pub fn $setting(mut self, $setting: $of) -> Self {
                self.each_run().$setting = $setting;
                self
            }
        )*}
    };
}

settings! {
    /// Sets what goes wrong. Otherwise nothing does, and in a [`Check`] [all faults](Faults::all)
    /// happen.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults};
    /// use joint_executor::time::sleep;
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let run = |faults| Builder::new(1).faults(faults).run(async move { sleep(second).await });
    /// assert_eq!(run(Faults::none())?.elapsed, second);
    /// assert!(run(Faults::none().late_timers(1.0))?.elapsed > second);
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    faults: Faults,

    /// Sets the number of workers of the main executor, and of each executor whose builder does not
    /// say it. Otherwise it is 2.
    ///
    /// All workers take turns. Their number matters to a poll that blocks, which blocks its worker,
    /// and to tasks that belong to one worker.
    ///
    /// # Example
    /// ```
    /// use joint::block_on;
    /// use joint_sim::Builder;
    /// use joint_executor::spawn;
    ///
    /// // The poll of the outer task blocks a worker until the inner one has run.
    /// let run = |workers| {
    ///     let settings = Builder::new(1).workers(workers);
    ///     settings.run(async { spawn(async { block_on(spawn(async { 7 })) }).await })
    /// };
    /// assert_eq!(run(2)?.output, 7);
    /// assert!(run(1).unwrap_err().is_deadlock());
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    workers: usize,

    /// Sets how much virtual time each poll takes. Otherwise it takes none.
    ///
    /// # Example
    /// ```
    /// use joint_sim::Builder;
    /// use joint_executor::yield_now;
    /// use std::time::Duration;
    ///
    /// let settings = Builder::new(1).charge(Duration::from_millis(2));
    /// assert_eq!(settings.run(yield_now())?.elapsed, Duration::from_millis(4));
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    charge: Duration,

    /// Sets whether a panic of a task that has no handle is no failure. Otherwise it is one,
    /// because nobody else would learn of it.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Scheduler};
    /// use joint_executor::{spawn_detached, yield_now};
    ///
    /// let run = |ignores| {
    ///     let settings = Builder::new(1).scheduler(Scheduler::RoundRobin);
    ///     settings.ignore_detached_panics(ignores).run(async {
    ///         spawn_detached(async { panic!("unseen") });
    ///         yield_now().await;
    ///     })
    /// };
    /// assert!(run(true).is_ok());
    /// assert!(run(false).is_err());
    /// ```
    ignore_detached_panics: bool,

    /// Sets the largest number of steps, after which the run fails. Each poll is a step. Otherwise
    /// the limit of a [`Check`] is 100,000, and other runs have none.
    ///
    /// # Example
    /// ```
    /// let spins = joint_sim::Builder::new(1).max_steps(100).run(async {
    ///     loop {
    ///         joint_executor::yield_now().await;
    ///     }
    /// });
    /// let report = spins.map(|outcome| outcome.output).unwrap_err();
    /// assert!(report.to_string().contains("it took more than 100 steps"));
    /// ```
    max_steps: u64,

    /// Sets the virtual time after which the run fails. Otherwise the limit of a [`Check`] is 24
    /// hours, and other runs have none.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Host, net::TcpStream};
    /// use joint_executor::time::sleep;
    /// use std::time::Duration;
    ///
    /// let failure = Builder::new(1).max_time(Duration::from_secs(3600)).run(async {
    ///     Host::new("server");
    ///     // Nobody ever listens there.
    ///     while TcpStream::connect("server:80").await.is_err() {
    ///         sleep(Duration::from_secs(1)).await;
    ///     }
    /// });
    /// assert!(failure.unwrap_err().to_string().contains("more than 3600s of virtual time"));
    /// ```
    max_time: Duration,

    /// Sets how long, in real time, a function of
    /// [`spawn_blocking`](joint_executor::spawn_blocking) may run from one wait of `joint` to
    /// the next. After that the run fails. Otherwise it is 10 s.
    ///
    /// Such a function has a thread of its own, but the simulation waits until it ends, or waits in
    /// `joint`. If it waits elsewhere, such as in a channel of `std`, for another part of the
    /// program, nothing can go on. The run then fails, and leaks all that is in it. The process is
    /// aborted with the same message if a poll is blocked in a wait meanwhile.
    ///
    /// # Example
    /// ```
    /// use joint_sim::Builder;
    /// use joint_executor::spawn_blocking;
    /// use std::{sync::mpsc, time::Duration};
    ///
    /// let failure = Builder::new(1).max_call_time(Duration::from_millis(100)).run(async {
    ///     let (_sender, receiver) = mpsc::channel::<()>();
    ///     // Nothing is ever sent.
    ///     spawn_blocking(move || receiver.recv()).await
    /// });
    /// let report = failure.unwrap_err().to_string();
    /// assert!(report.contains("use `joint::oneshot`"), "{report}");
    /// ```
    max_call_time: Duration,

    /// Sets how long, in real time, a poll may go on without a wait of `joint`. After that the
    /// process is aborted, with a report on the standard error. Otherwise it is one minute.
    /// [`Duration::MAX`] means forever, and nobody looks at the run then.
    ///
    /// A poll that waits elsewhere than in `joint` blocks the whole simulation: in a channel or
    /// lock of `std`, in [`park`](std::thread::park), or in a poll that never ends. Often it waits
    /// for another task, which can never run. A blocked thread cannot be unwound, so no [`Failure`]
    /// can be returned. The report names the seed, the step, the task and where it was spawned, and
    /// how a check is replayed. The test harness of `cargo test` ends with the process, and the
    /// other tests of the program are not run.
    ///
    /// [`Failure`]: super::Failure
    ///
    /// The limit is not exact, and the time in which a debugger holds the process does not count.
    /// The same limit holds for a destructor at the end of the run. A function of `spawn_blocking`
    /// has a limit of its own, [`max_call_time`](Self::max_call_time).
    ///
    /// # Cost
    /// One thread of the process looks at all runs once a second, or four times in the shortest of
    /// their limits. It sleeps when there is no run.
    ///
    /// # Example
    /// ```
    /// use std::{sync::mpsc, time::Duration};
    ///
    /// # if false {
    /// joint_sim::Builder::new(1).max_poll_time(Duration::from_secs(5)).run(async {
    ///     let (sender, receiver) = mpsc::channel();
    ///     joint_executor::spawn_detached(async move { sender.send(1).unwrap() });
    ///     // This aborts the process: the task cannot run. Use `joint::oneshot` instead.
    ///     receiver.recv().unwrap()
    /// })?;
    /// # }
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    max_poll_time: Duration,
}
