//! The settings that one run has, and each run of many.

use std::time::Duration;

use super::{
    check::Check,
    faults::Faults,
    settings::{Builder, Panics},
};

/// Makes each of these a method of [`Builder`] and of [`Check`].
macro_rules! settings {
    ($($(#[$doc:meta])* $setting:ident: $of:ty,)*) => {
        impl Builder {$(
            $(#[$doc])*
            pub fn $setting(mut self, $setting: $of) -> Self {
                self.$setting = $setting;
                self
            }
        )*}

        impl Check {$(
            $(#[$doc])*
            pub fn $setting(mut self, $setting: $of) -> Self {
                self.settings.$setting = $setting;
                self
            }
        )*}
    };
}

settings! {
    /// Sets what goes wrong. Otherwise nothing does, and in a [`Check`] [all faults](Faults::all)
    /// happen.
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

    /// Sets which panics fail a run. Otherwise these are those that nobody
    /// [looks at](Panics::Unseen), and in a [`Check`] [all](Panics::Any).
    panics: Panics,

    /// Sets whether a run fails if a task has not ended when the main future does. Otherwise such a
    /// task is dropped, and is listed in [`Outcome::unfinished`](super::Outcome::unfinished).
    ///
    /// # Example
    /// Two tasks wait for each other, and the main future for neither:
    /// ```
    /// use joint::oneshot;
    /// use joint_executor::{spawn_detached, time::sleep};
    /// use joint_sim::Check;
    /// use std::time::Duration;
    ///
    /// let program = || async {
    ///     let (one, first) = oneshot::channel::<()>();
    ///     let (other, second) = oneshot::channel::<()>();
    ///     spawn_detached(async { first.await.map(|()| other.send(())) });
    ///     spawn_detached(async { second.await.map(|()| one.send(())) });
    ///     sleep(Duration::from_secs(1)).await;
    /// };
    /// Check::new().run(program);
    /// let found = Check::new().deny_unfinished(true).find(program).unwrap_err();
    /// assert!(found.to_string().contains("task 2, spawned at "));
    /// ```
    deny_unfinished: bool,

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
    /// use joint_sim::Builder;
    /// use joint_executor::time::sleep;
    /// use std::time::Duration;
    ///
    /// let hour = Duration::from_secs(3600);
    /// let failure = Builder::new(1).max_time(hour).run(sleep(2 * hour)).unwrap_err();
    /// assert!(failure.to_string().contains("more than 3600s of virtual time"));
    /// ```
    max_time: Duration,

    /// Sets how long, in real time, a function of
    /// [`spawn_blocking`](joint_executor::spawn_blocking) may run from one wait of `joint` to
    /// the next. After that the run fails. Otherwise it is 10 s.
    ///
    /// Such a function has a thread of its own, but the simulation waits until it ends, or waits in
    /// `joint`. If it waits elsewhere, such as in a channel of `std`, nothing can go on. The run
    /// then fails, and leaks all that is in it. If a poll is blocked in a wait meanwhile, the
    /// process is aborted with the same message.
    max_call_time: Duration,

    /// Sets how long, in real time, a poll, or a destructor at the end of the run, may go on
    /// without a wait of `joint`. After that the process is aborted, with a report on the standard
    /// error that names the seed, the step, the task and where it was spawned, and how a check is
    /// replayed. Otherwise it is one minute. [`Duration::MAX`] means forever, and nobody looks at
    /// the run then.
    ///
    /// A poll that waits in a channel or lock of `std`, or in [`park`](std::thread::park), blocks
    /// the whole simulation, and often waits for a task that can never run. A blocked thread cannot
    /// be unwound, so no [`Failure`](super::Failure) can be returned. The test harness ends with
    /// the process. The limit is not exact, and the time in which a debugger holds the process does
    /// not count. A function of `spawn_blocking` has its own limit,
    /// [`max_call_time`](Self::max_call_time).
    ///
    /// # Cost
    /// One thread of the process looks at all runs once a second, or four times in the shortest of
    /// their limits. It sleeps when there is no run.
    max_poll_time: Duration,

    /// Sets whether a run fails if a future of [`waiting_for`](joint_executor::waiting_for)
    /// [snoozes](super::Snoozing) when the main future ends well. Otherwise such a run passes.
    ///
    /// Where the main future waits for the one that snoozes, the run is a deadlock, and fails
    /// anyway. This is for programs in which it waits for less, such as a server that is stopped
    /// while its requests are under way. Let the main future rest until its tasks should be idle: a
    /// loop over a select that is in the handler of one branch, and will poll the other branch
    /// after that, snoozes meanwhile, and is blamed if the main future ends then.
    deny_snoozing: bool,
}
