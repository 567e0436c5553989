//! [`Faults`]: what goes wrong in a simulation, and the places where a program lets it.
//!
//! Late timers, late wake-ups, spurious polls and extra yields may hit every task, because every
//! program must bear them. No program bears that just any of its tasks is cancelled or panics, so
//! these hit only what says that it may be hit: [`may_cancel`], [`may_panic`], and tasks whose
//! names are given to [`Faults::cancel_tasks`].

use core::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll},
};
use std::{boxed::Box, panic::resume_unwind};

use super::world;

/// What goes wrong in a simulation, each with the probability that it happens where it could.
///
/// A probability of 0 switches a fault off, which costs a run nothing. All faults are decided by
/// the seed, as everything else is.
///
/// # Example
/// ```
/// use joint_sim::{Builder, Faults};
/// use joint_executor::time::{now, sleep};
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let slept = |faults| {
///     let simulation = Builder::new(1).faults(faults);
///     let outcome = simulation.run(async move {
///         let start = now();
///         sleep(second).await;
///         now() - start
///     });
///     outcome.unwrap().output
/// };
/// assert_eq!(slept(Faults::none()), second);
/// assert!(slept(Faults::none().late_timers(1.0)) > second);
/// ```
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until they are given to a `Builder`"]
pub struct Faults {
    pub(super) late_timers: f64,
    pub(super) late_wakeups: f64,
    pub(super) spurious_polls: f64,
    pub(super) extra_yields: f64,
    pub(super) cancellations: f64,
    pub(super) panics: f64,
    pub(super) sites: f64,
    pub(super) cancels: Option<fn(&str) -> bool>,
}

impl Default for Faults {
    /// No faults.
    fn default() -> Self {
        Self::none()
    }
}

impl Faults {
    /// No faults: every probability is 0.
    pub const fn none() -> Self {
        Self {
            late_timers: 0.0,
            late_wakeups: 0.0,
            spurious_polls: 0.0,
            extra_yields: 0.0,
            cancellations: 0.0,
            panics: 0.0,
            sites: 0.0,
            cancels: None,
        }
    }

    /// All faults, each with a probability that finds mistakes and lets a program make progress.
    ///
    /// A correct program stays correct under all of them: see each of the methods. Timers are late
    /// with a probability of 25%, and [`fault`] sites are active and fire with 25% each. The other
    /// faults have 10%, and panics 2%.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Check, Faults};
    /// use joint_executor::time::{now, sleep};
    /// use std::time::Duration;
    ///
    /// // The program asserts an exact time, so nothing may be late.
    /// let faults = Faults::all().late_timers(0.0).late_wakeups(0.0);
    /// let settings = Builder::new(0).max_steps(1_000).faults(faults);
    /// Check::new().settings(settings).run(|| async {
    ///     let start = now();
    ///     sleep(Duration::from_secs(1)).await;
    ///     assert_eq!(now() - start, Duration::from_secs(1));
    /// });
    /// ```
    pub const fn all() -> Self {
        Self {
            late_timers: 0.25,
            late_wakeups: 0.1,
            spurious_polls: 0.1,
            extra_yields: 0.1,
            cancellations: 0.1,
            panics: 0.02,
            sites: 0.25,
            cancels: None,
        }
    }

    /// A timer fires late, by up to 134 ms of virtual time, and so does the deadline of a wait that
    /// blocks. Small delays are as likely as large ones.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults};
    /// use joint_executor::time::sleep;
    /// use std::time::Duration;
    ///
    /// let (second, most) = (Duration::from_secs(1), Duration::from_millis(135));
    /// let settings = Builder::new(1).faults(Faults::none().late_timers(1.0));
    /// let late = settings.run(async move { sleep(second).await })?;
    /// assert!(late.elapsed > second && late.elapsed < second + most);
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub const fn late_timers(mut self, probability: f64) -> Self {
        self.late_timers = probability;
        self
    }

    /// A wake-up, or the first poll of a task, is late by up to 134 ms of virtual time. Wake-ups
    /// that come after it therefore overtake it.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults};
    /// use joint_executor::spawn;
    /// use std::time::Duration;
    ///
    /// let run = |faults| Builder::new(1).faults(faults).run(async { spawn(async {}).await });
    /// assert_eq!(run(Faults::none())?.elapsed, Duration::ZERO);
    /// assert!(run(Faults::none().late_wakeups(1.0))?.elapsed > Duration::ZERO);
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub const fn late_wakeups(mut self, probability: f64) -> Self {
        self.late_wakeups = probability;
        self
    }

    /// A task is polled once more, up to 134 ms of virtual time after a poll, although nothing has
    /// woken it.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults};
    /// use joint_executor::{spawn, time::sleep};
    /// use std::time::Duration;
    ///
    /// let polls = |faults| {
    ///     let run = Builder::new(1).faults(faults).run(async {
    ///         spawn(sleep(Duration::from_secs(1))).await;
    ///     });
    ///     run.unwrap().steps
    /// };
    /// assert!(polls(Faults::none().spurious_polls(1.0)) > polls(Faults::none()));
    /// ```
    pub const fn spurious_polls(mut self, probability: f64) -> Self {
        self.spurious_polls = probability;
        self
    }

    /// A poll has a [budget](joint::waker::budget) of at most 7 operations, instead of 128. So
    /// operations of [`io`](joint_executor::io) and [`time`](joint_executor::time) yield that
    /// usually do not.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults, net::UdpSocket};
    ///
    /// let polls = |faults| {
    ///     let run = Builder::new(1).faults(faults).run(async {
    ///         let socket = UdpSocket::bind("127.0.0.1:7").await?;
    ///         for _ in 0..20 {
    ///             socket.send_to(b"hello", "127.0.0.1:8").await?;
    ///         }
    ///         Ok::<(), std::io::Error>(())
    ///     });
    ///     run.unwrap().steps
    /// };
    /// assert_eq!(polls(Faults::none()), 1);
    /// assert!(polls(Faults::none().extra_yields(1.0)) > 2);
    /// ```
    pub const fn extra_yields(mut self, probability: f64) -> Self {
        self.extra_yields = probability;
        self
    }

    /// A future in [`may_cancel`] is dropped, or a task that
    /// [`cancel_tasks`](Faults::cancel_tasks) names is cancelled. This is decided each time that
    /// the one is pending, or the other is about to be polled.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Builder, Faults};
    /// use joint_executor::time::sleep;
    /// use std::{sync::Mutex, time::Duration};
    ///
    /// let queue = Mutex::new(vec!["job"]);
    /// let run = Builder::new(1).faults(Faults::none().cancellations(1.0)).run(async {
    ///     sim::may_cancel(async {
    ///         let job = queue.lock().unwrap().pop();
    ///         sleep(Duration::from_secs(1)).await;
    ///         println!("{job:?} is done");
    ///     }).await
    /// });
    /// assert_eq!(run.unwrap().output, None);
    /// assert!(queue.lock().unwrap().is_empty(), "the job is lost");
    /// ```
    pub const fn cancellations(mut self, probability: f64) -> Self {
        self.cancellations = probability;
        self
    }

    /// Names tasks that [`cancellations`](Faults::cancellations) may cancel: those with a name, for
    /// which the function returns true. Their waiters find that they were cancelled.
    ///
    /// # Example
    /// ```
    /// use joint_executor::TaskBuilder;
    /// use joint_sim::{Builder, Faults};
    ///
    /// let faults = Faults::none().cancellations(1.0).cancel_tasks(|name| name == "probe");
    /// let outcome = Builder::new(1).faults(faults).run(async {
    ///     let kept = TaskBuilder::new().name("server").spawn(async { 1 });
    ///     let probe = TaskBuilder::new().name("probe").spawn(async { 2 });
    ///     (kept.result().await, probe.result().await)
    /// });
    /// let (kept, probe) = outcome.unwrap().output;
    /// assert_eq!(kept.unwrap(), 1);
    /// assert!(probe.unwrap_err().is_cancelled());
    /// ```
    pub const fn cancel_tasks(mut self, named: fn(&str) -> bool) -> Self {
        self.cancels = Some(named);
        self
    }

    /// A poll of a future in [`may_panic`] panics.
    ///
    /// # Example
    /// ```
    /// use joint_executor::JoinSet;
    /// use joint_sim::{self as sim, Builder, Faults};
    ///
    /// let outcome = Builder::new(1).faults(Faults::none().panics(0.5)).run(async {
    ///     let mut set = JoinSet::new();
    ///     for n in 0..10 {
    ///         set.spawn(sim::may_panic(async move { n }));
    ///     }
    ///     let mut panics = 0;
    ///     while let Some(ended) = set.join_next().await {
    ///         panics += u32::from(ended.is_err());
    ///     }
    ///     panics
    /// });
    /// assert!((1..10).contains(&outcome.unwrap().output));
    /// ```
    pub const fn panics(mut self, probability: f64) -> Self {
        self.panics = probability;
        self
    }

    /// A [`fault`] site is active in this share of the runs. In a run in which it is active, it
    /// fires in this share of its calls.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Builder, Faults};
    ///
    /// let fired = |seed| {
    ///     let settings = Builder::new(seed).faults(Faults::none().sites(0.5));
    ///     let run = settings.run(async { (0..100).filter(|_| sim::fault("disk")).count() });
    ///     run.unwrap().output
    /// };
    /// assert!((0..10).any(|seed| fired(seed) == 0));
    /// assert!((0..10).any(|seed| (25..75).contains(&fired(seed))));
    /// ```
    pub const fn sites(mut self, probability: f64) -> Self {
        self.sites = probability;
        self
    }

    /// Returns whether anything can go wrong.
    pub(super) fn is_none(&self) -> bool {
        let all = [
            self.late_timers,
            self.late_wakeups,
            self.spurious_polls,
            self.extra_yields,
            self.cancellations,
            self.panics,
            self.sites,
        ];
        all.iter().all(|&probability| probability <= 0.0)
    }
}

/// Returns whether a fault of the program's own is to happen here, by [`Faults::sites`]. Outside of
/// a simulation it returns false.
///
/// A site, which is all calls with the same name, is active in some runs only. So a rare fault
/// does not always come together with all others.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Builder, Faults};
///
/// fn write(text: &str) -> Result<usize, &'static str> {
///     if sim::fault("the disk is full") {
///         return Err("full");
///     }
///     Ok(text.len())
/// }
///
/// assert_eq!(write("abc"), Ok(3));
/// let faults = Faults::none().sites(1.0);
/// let outcome = Builder::new(1).faults(faults).run(async { write("abc") });
/// assert_eq!(outcome.unwrap().output, Err("full"));
/// ```
pub fn fault(name: &str) -> bool {
    world::with(|world| world.is_some_and(|world| world.fires(name)))
}

/// Lets a simulation drop a future at any of its suspension points, by [`Faults::cancellations`].
/// The output is `None` then. Elsewhere it only awaits the future.
///
/// This tests that a future is safe to cancel, as a [`timeout`](joint_executor::time::timeout) or a
/// race cancels it: what it held is given back, and what it had received is not lost. The future is
/// dropped right after a poll in which it was pending, at some later time, or in place of the poll
/// that it was woken for.
///
/// # Panics
/// The returned future panics if it is polled again after it was ready.
///
/// # Cost
/// One allocation.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Builder, Faults};
///
/// assert_eq!(joint::block_on(sim::may_cancel(async { 7 })), Some(7));
/// let faults = Faults::none().cancellations(1.0);
/// let waits = sim::may_cancel(std::future::pending::<()>());
/// let outcome = Builder::new(1).faults(faults).run(waits);
/// assert_eq!(outcome.unwrap().output, None);
/// ```
pub fn may_cancel<F: IntoFuture>(future: F) -> MayCancel<F::IntoFuture> {
    MayCancel {
        future: Some(Box::pin(future.into_future())),
        fate: Fate::Open,
    }
}

/// The time at which a future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Not decided yet.
    Open,
    Now,
    AtNextPoll,
    /// At the first poll at or after this time of the clock.
    At(u64),
}

/// The future of [`may_cancel`].
#[must_use = "futures do nothing unless awaited"]
pub struct MayCancel<F> {
    /// `None` after the end.
    future: Option<Pin<Box<F>>>,
    fate: Fate,
}

impl<F: Future> Future for MayCancel<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(future) = &mut this.future else {
            panic!("a `MayCancel` was polled again after it was ready; do not poll it after that");
        };
        let has_come = match this.fate {
            Fate::Open => false,
            Fate::Now | Fate::AtNextPoll => true,
            Fate::At(time) => world::with(|world| world.is_none_or(|world| world.now() >= time)),
        };
        if !has_come {
            let polled = future.as_mut().poll(cx);
            if let Poll::Ready(output) = polled {
                this.future = None;
                return Poll::Ready(Some(output));
            }
            if this.fate == Fate::Open {
                this.fate = world::with(|world| world.map_or(Fate::Open, |world| world.fate(cx)));
            }
            if this.fate != Fate::Now {
                return Poll::Pending;
            }
        }
        world::with(|world| {
            if let Some(world) = world {
                world.note_cancelled();
            }
        });
        this.future = None;
        Poll::Ready(None)
    }
}

impl<F> fmt::Debug for MayCancel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MayCancel")
            .field("has_ended", &self.future.is_none())
            .finish_non_exhaustive()
    }
}

/// Lets a simulation panic in any poll of a future, by [`Faults::panics`]. Elsewhere it only awaits
/// the future.
///
/// The panic comes in place of the poll, so the future is dropped while the thread unwinds. A task
/// that panics ends, and its waiter finds the panic: put this around what runs in a task whose
/// failure the rest of the program survives.
///
/// # Cost
/// One allocation.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Builder, Faults};
/// use joint_executor::spawn;
///
/// let faults = Faults::none().panics(1.0);
/// let outcome = Builder::new(1).faults(faults).run(async {
///     spawn(sim::may_panic(async { 7 })).result().await
/// });
/// assert!(outcome.unwrap().output.unwrap_err().is_panic());
/// ```
pub fn may_panic<F: IntoFuture>(future: F) -> MayPanic<F::IntoFuture> {
    MayPanic(Box::pin(future.into_future()))
}

/// The future of [`may_panic`].
#[must_use = "futures do nothing unless awaited"]
pub struct MayPanic<F>(Pin<Box<F>>);

impl<F: Future> Future for MayPanic<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if world::with(|world| world.is_some_and(|world| world.panics())) {
            // Without a message on the standard error: the simulation has asked for the panic.
            resume_unwind(Box::new(
                "a panic that the simulation's faults have asked for",
            ));
        }
        self.0.as_mut().poll(cx)
    }
}

impl<F> fmt::Debug for MayPanic<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MayPanic").finish_non_exhaustive()
    }
}
