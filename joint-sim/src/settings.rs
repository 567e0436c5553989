//! [`Builder`]: the settings of a run.

use std::time::Duration;

use super::{faults::Faults, scheduler::Scheduler};

/// The settings of a simulation.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `run` is called"]
pub struct Builder {
    pub(super) seed: u64,
    pub(super) scheduler: Scheduler,
    pub(super) faults: Faults,
    pub(super) expected_steps: u64,
    pub(super) workers: usize,
    pub(super) charge: Duration,
    pub(super) panics: Panics,
    pub(super) max_steps: u64,
    pub(super) max_time: Duration,
    pub(super) max_call_time: Duration,
    pub(super) max_poll_time: Duration,
    pub(super) keeps_trace: bool,
    /// Whether a run that ends well fails if a task has not ended, or if a future snoozes.
    pub(super) deny_unfinished: bool,
    pub(super) deny_snoozing: bool,
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
            panics: Panics::Unseen,
            max_steps: u64::MAX,
            max_time: Duration::MAX,
            max_call_time: Duration::from_secs(10),
            max_poll_time: Duration::from_secs(60),
            keeps_trace: false,
            deny_unfinished: false,
            deny_snoozing: false,
            replay: None,
        }
    }

    /// Sets how the task that runs next is chosen. Otherwise it is [`Scheduler::Random`].
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
    pub fn expected_steps(mut self, steps: u64) -> Self {
        self.expected_steps = steps;
        self
    }

    /// Sets whether everything that happens is kept, as a [`Trace`]. Otherwise it is not.
    ///
    /// [`Trace`]: super::Trace
    ///
    /// This takes memory for each spawn, wake-up and poll. It changes nothing in the run.
    pub fn trace(mut self, trace: bool) -> Self {
        self.keeps_trace = trace;
        self
    }
}

/// Which panics fail a run, besides those of the main future and of hosts that nobody watches.
/// [`Builder::panics`] sets it.
///
/// Panics of [`may_panic`](super::may_panic) never fail a run by themselves.
///
/// # Example
/// ```
/// use joint_executor::{spawn, time::sleep};
/// use joint_sim::{Builder, Panics};
/// use std::time::Duration;
///
/// let fails = |panics| {
///     let run = Builder::new(1).panics(panics).run(async {
///         let _task = spawn(async { panic!("unseen") });
///         sleep(Duration::from_secs(1)).await;
///     });
///     run.is_err()
/// };
/// assert!(fails(Panics::Any) && fails(Panics::Unseen) && !fails(Panics::Detached));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panics {
    /// Each panic, also if the program catches it.
    Any,
    /// The panic of a task if nobody looks at it before the run ends. To look is to take the
    /// [payload](joint::task::PanicPayload), as awaiting the task does, or to read its message, as
    /// `Display` and `Debug` of the error do. To ask whether there is an error is not enough.
    Unseen,
    /// The panic of a task that has no handle.
    Detached,
}
