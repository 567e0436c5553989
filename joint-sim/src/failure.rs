//! Why a run has failed.

use std::{
    any::Any,
    fmt, mem,
    panic::{Location, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{
    panicked::{Panicked, Told, is_like},
    record::{Actor, Event, fold, lines},
    snoozing::Snoozing,
    trace::Trace,
    unfinished::{Unfinished, listed},
};

/// What was left of the program when a run failed.
#[derive(Default)]
pub(super) struct Left {
    /// The wait of the main future, as the rest of a sentence. `None` once it is over.
    pub(super) main: Option<String>,
    /// The tasks that had not ended, the one that was polled longest ago first.
    pub(super) unfinished: Vec<Unfinished>,
    /// The workers that can run nothing, because they are in a poll that blocks.
    pub(super) blocked: Vec<String>,
    /// What keeps hosts from going on, or from each other.
    pub(super) troubles: Vec<String>,
    pub(super) snoozing: Vec<Snoozing>,
    /// The panics of tasks that nobody had looked at.
    pub(super) unseen: Vec<Panicked>,
}

impl Left {
    fn show(&self, f: &mut fmt::Formatter<'_>, is_deadlock: bool) -> fmt::Result {
        if let Some(main) = &self.main {
            writeln!(f, "the main future {main}")?;
        }
        if !self.unfinished.is_empty() {
            let tasks = listed(&self.unfinished);
            write!(f, "the tasks that have not ended:\n{tasks}")?;
        }
        f.write_str(&lines(&self.blocked))?;
        f.write_str(&lines(&self.troubles))?;
        if is_deadlock {
            f.write_str(OUTSIDE)?;
        }
        if !self.unseen.is_empty() {
            let unseen = lines(self.unseen.iter().map(Panicked::first_line));
            write!(f, "panics that nobody has looked at:\n{unseen}")?;
        }
        if !self.snoozing.is_empty() {
            let snoozing = lines(&self.snoozing);
            write!(f, "futures that were woken and are not polled:\n{snoozing}")?;
        }
        Ok(())
    }
}

const OUTSIDE: &str = "the simulation does not wait for what is outside of it: threads of `std`, \
    executors that were made outside, and descriptors\n";

pub(super) struct Payload {
    told: Told,
    /// The payload. Locked, because an error may be shared between threads and a payload may not.
    inner: Mutex<Box<dyn Any + Send>>,
}

impl Payload {
    pub(super) fn new(payload: Box<dyn Any + Send>, told: Told) -> Self {
        let inner = Mutex::new(payload);
        Self { told, inner }
    }

    fn into_inner(self) -> Box<dyn Any + Send> {
        let inner = self.inner.into_inner();
        inner.unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) enum Kind {
    Panic(Payload),
    /// The main future returned an error, which is shown as this text.
    Error(String),
    HostPanic(Arc<str>, Payload),
    /// Nobody can wake anybody.
    Deadlock,
    Steps(u64),
    Time(Duration),
    /// No executor or thread could be started.
    NotStarted(&'static str, String),
    /// A call has blocked the simulation for too long.
    Stuck {
        actor: Actor,
        spawned: &'static Location<'static>,
        limit: Duration,
    },
    /// A blocked poll could continue, but lies beneath another blocked poll on the stack.
    Beneath {
        actor: Actor,
        above: Actor,
    },
    Panicked(Panicked),
    /// The main future ended well, but a task had not ended.
    Unfinished,
    /// Two runs that should be the same differ. The text says how.
    Differs(String),
    /// No run of a check has reached these.
    NeverReached(Vec<String>),
    /// The main future ended well, but a future snoozed.
    Snoozing,
    /// This worker of an executor outside has woken a task.
    WokenOutside(String),
}

/// The error of a run: what went wrong, and where.
///
/// `Display` shows all of it: the seed, what happened, and the last steps.
///
/// # Example
/// ```
/// use joint_sim::Builder;
/// use joint_executor::time::sleep;
/// use std::{future::pending, time::Duration};
///
/// let failure = Builder::new(4).run(async {
///     sleep(Duration::from_secs(2)).await;
///     pending::<()>().await;
/// });
/// let failure = failure.unwrap_err();
/// assert!(failure.is_deadlock());
/// assert_eq!((failure.seed(), failure.steps()), (4, 2));
/// assert_eq!(failure.elapsed(), Duration::from_secs(2));
///
/// let failure = Builder::new(4).run(async {
///     if true {
///         panic!("on purpose");
///     }
/// });
/// let payload = failure.unwrap_err().into_panic().unwrap();
/// assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
/// ```
pub struct Failure {
    /// The kind of failure. Boxed, because most results are not errors.
    kind: Box<Kind>,
    seed: u64,
    steps: u64,
    at: u64,
    last: Vec<Event>,
    /// What was left of the program. `None` until that is known.
    left: Option<Box<Left>>,
    pub(super) trace: Option<Box<Trace>>,
}

impl Failure {
    pub(super) fn new(seed: u64, kind: Kind, steps: u64, at: u64, last: Vec<Event>) -> Self {
        Self {
            kind: Box::new(kind),
            seed,
            steps,
            at,
            last,
            left: None,
            trace: None,
        }
    }

    /// Returns everything that happened up to the failure, if [`Builder::trace`] asked for it.
    ///
    /// [`Builder::trace`]: super::Builder::trace
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// Returns the futures of [`waiting_for`](joint_executor::waiting_for) that snoozed when the
    /// run failed.
    pub fn snoozing(&self) -> &[Snoozing] {
        self.left.as_ref().map_or(&[], |left| &left.snoozing)
    }

    /// Returns the tasks that had not ended when the run failed. The one that was polled longest
    /// ago is the first.
    pub fn unfinished(&self) -> &[Unfinished] {
        self.left.as_ref().map_or(&[], |left| &left.unfinished)
    }

    /// Sets what was left, unless that was done before.
    pub(super) fn set_left(&mut self, left: impl FnOnce() -> Left) {
        let left = self.left.get_or_insert_with(|| Box::new(left()));
        if matches!(*self.kind, Kind::Panicked(_)) {
            left.unseen.clear();
        }
    }

    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (&*self.kind, &*other.kind) {
            (Kind::Panic(one), Kind::Panic(other)) => one.told.is_like(&other.told),
            (Kind::Error(one), Kind::Error(other)) => is_like(one, other),
            (Kind::HostPanic(host, one), Kind::HostPanic(other_host, other)) => {
                host == other_host && one.told.is_like(&other.told)
            }
            (Kind::Panicked(one), Kind::Panicked(other)) => one.told.is_like(&other.told),
            (Kind::Snoozing, Kind::Snoozing) => {
                self.snoozing()[0].place == other.snoozing()[0].place
            }
            (one, other) => mem::discriminant(one) == mem::discriminant(other),
        }
    }

    pub(super) fn is_at_limit(&self) -> bool {
        matches!(*self.kind, Kind::Steps(_) | Kind::Time(_))
    }

    pub(super) fn is_of_no_run(&self) -> bool {
        matches!(*self.kind, Kind::NeverReached(_))
    }

    pub(super) fn is_stuck(&self) -> bool {
        matches!(*self.kind, Kind::Stuck { .. })
    }

    /// The last events, oldest first.
    pub(super) fn last(&self) -> &[Event] {
        &self.last
    }

    /// Returns the seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the number of steps of the run.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the virtual time from the start of the run to its end.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.at)
    }

    /// Returns whether nobody could be woken any more.
    pub fn is_deadlock(&self) -> bool {
        matches!(*self.kind, Kind::Deadlock)
    }

    /// Returns the payload if the main future or that of a host panicked, and otherwise the failure
    /// itself.
    ///
    /// # Errors
    /// The failure, if it is no panic.
    pub fn into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match *self.kind {
            Kind::Panic(payload) | Kind::HostPanic(_, payload) => Ok(payload.into_inner()),
            kind => Err(Self {
                kind: Box::new(kind),
                ..self
            }),
        }
    }

    pub(super) fn pass_on(self) -> ! {
        std::eprintln!("{self}");
        match self.into_panic() {
            Ok(payload) => resume_unwind(payload),
            Err(failure) => panic!("{failure}"),
        }
    }
}

/// The advice for a wait that the simulation does not see.
pub(super) const ONLY_OWN_WAITS: &str = "a simulation sees only joint's waits: use \
    `joint::oneshot` or `joint::block_on` instead of a channel of `std`, `joint_executor::time::sleep` \
    instead of `thread::sleep`, and hold no lock of `std` across an `await`";

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, steps, .. } = self;
        if let Kind::NeverReached(what) = &*self.kind {
            return writeln!(f, "no run has reached: {}", what.join(", "));
        }
        write!(
            f,
            "the simulation with seed {seed} failed in step {steps}, at {:?}: ",
            self.elapsed()
        )?;
        match &*self.kind {
            Kind::Panic(payload) => writeln!(f, "the main future panicked{}", payload.told)?,
            Kind::Error(error) => writeln!(f, "the main future returned an error: {error}")?,
            Kind::HostPanic(host, payload) => {
                writeln!(
                    f,
                    "the main future of host `{host}` panicked{}",
                    payload.told
                )?;
            }
            Kind::Deadlock => {
                f.write_str("deadlock: nothing can run, and no timer is armed\n")?;
            }
            Kind::Steps(limit) => writeln!(f, "it took more than {limit} steps")?,
            Kind::Time(limit) => writeln!(f, "it took more than {limit:?} of virtual time")?,
            Kind::NotStarted(what, error) => writeln!(f, "no {what} could be started: {error}")?,
            Kind::Stuck {
                actor,
                spawned,
                limit,
            } => writeln!(
                f,
                "the function of `spawn_blocking` at {spawned} ({actor}) blocked outside of joint's \
                 waits for {limit:?} of real time, or computed for as long; {ONLY_OWN_WAITS}, or \
                 raise `Builder::max_call_time`"
            )?,
            Kind::Beneath { actor, above } => writeln!(
                f,
                "a poll that blocks lies beneath another one: what the poll of {actor} waits for \
                 is due, but the poll of {above}, which blocks too, lies above it on the stack; \
                 use `spawn_blocking` for what blocks"
            )?,
            Kind::Panicked(panicked) => writeln!(f, "{panicked}")?,
            Kind::Unfinished => f.write_str("the main future ended before its tasks did\n")?,
            Kind::Differs(text) => f.write_str(text)?,
            Kind::NeverReached(_) => {}
            Kind::Snoozing => f.write_str("the main future ended, and futures snoozed\n")?,
            Kind::WokenOutside(waker) => writeln!(
                f,
                "a task of the simulation was woken from outside, by {waker}, so the run is not \
                 repeatable: on a thread of `std`, `spawn` uses the global executor, which is real; \
                 use `spawn_blocking` instead of `std::thread::spawn`"
            )?,
        }
        if let Some(left) = &self.left {
            left.show(f, self.is_deadlock())?;
        }
        match &self.last[..] {
            [] => Ok(()),
            last => {
                f.write_str("the last steps:\n")?;
                fold(f, last, "  ")
            }
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}
