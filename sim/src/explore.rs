//! Every schedule of a small program.

use alloc::{boxed::Box, rc::Rc};
use core::{cell::RefCell, future::Future};

use super::{
    attempt::Attempt,
    chance::Chance,
    failure::{Failure, Kind},
    scheduler::{DepthFirst, Search},
    settings::Builder,
    verdict::Verdict,
};

/// Runs a program once for each schedule that it has, and returns how many these are.
///
/// There is no limit: the number of schedules grows exponentially with the number of polls, and a
/// program that waits by yielding has infinitely many. [`Explore`] has a bound on
/// [preemptions](Explore::preemptions) and one on schedules.
///
/// # Panics
/// If the program fails in one of its schedules. Then the panic's message is the [`Failure`],
/// unless the main future panicked, whose panic is passed on.
///
/// # Example
/// Two tasks of two steps each can be interleaved in six ways.
/// ```
/// use joint::oneshot;
/// use joint_executor::{spawn_detached, yield_now};
/// use std::{cell::Cell, rc::Rc, sync::Arc};
///
/// let schedules = joint_sim::explore(|| async {
///     let (sender, ended) = oneshot::channel();
///     // The last task to end drops the sender.
///     let sender = Arc::new(sender);
///     for _ in 0..2 {
///         let sender = sender.clone();
///         spawn_detached(async move {
///             yield_now().await;
///             drop(sender);
///         });
///     }
///     drop(sender);
///     let _: Result<(), _> = ended.await;
/// });
/// assert_eq!(schedules, 6);
/// ```
pub fn explore<F: Future<Output: Verdict>>(program: impl Fn() -> F) -> u64 {
    match Explore::new().run(program) {
        Ok(explored) => explored.schedules,
        Err(failure) => failure.pass_on(),
    }
}

/// The settings of a search through all schedules of a program.
///
/// It has the settings of each run, too. A program that can go on forever in one of its schedules
/// needs [`max_steps`](Explore::max_steps).
///
/// The search is depth-first. A schedule is a sequence of choices of the task that runs next, so
/// two schedules count as two even if the tasks do nothing together between them. The first choice
/// is always the task that has been ready for longest. Everything else that is left to chance is
/// the same in all schedules.
///
/// # Example
/// ```
/// use joint_sim::Explore;
/// use joint_executor::{spawn, yield_now};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// // No preemption is needed to lose an update.
/// let lost = Explore::new().preemptions(0).run(|| async {
///     static COUNT: AtomicU32 = AtomicU32::new(0);
///     COUNT.store(0, Relaxed);
///     let add = || spawn(async {
///         let seen = COUNT.load(Relaxed);
///         yield_now().await;
///         COUNT.store(seen + 1, Relaxed);
///     });
///     let tasks = [add(), add()];
///     for task in tasks {
///         task.await;
///     }
///     assert_eq!(COUNT.load(Relaxed), 2, "an update was lost");
/// });
/// assert!(lost.unwrap_err().to_string().contains("an update was lost"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a search does nothing until `run` is called"]
pub struct Explore {
    pub(super) settings: Builder,
    most_preemptions: u32,
    most_schedules: u64,
}

impl Default for Explore {
    fn default() -> Self {
        Self::new()
    }
}

impl Explore {
    /// Creates the settings of a search without bounds.
    pub fn new() -> Self {
        Self {
            settings: Builder::new(0),
            most_preemptions: u32::MAX,
            most_schedules: u64::MAX,
        }
    }

    /// Sets the seed of all runs, which decides everything but the schedule. Otherwise it is 0.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Explore, random};
    ///
    /// let draw = |seed| Explore::new().seed(seed).run(|| async { assert!(random() % 2 == 0) });
    /// assert!((0..9).any(|seed| draw(seed).is_ok()) && (0..9).any(|seed| draw(seed).is_err()));
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Leaves out schedules with more preemptions than this.
    ///
    /// A yield, which is any wake-up of a task in its own poll, gives way to the tasks that are
    /// ready at this moment. A preemption is a choice that does not respect this: a task that has
    /// yielded runs although a task waits that was ready before the yield. All other choices are
    /// free, so with 0 preemptions too, tasks that do not yield run in every order.
    ///
    /// With a bound, a program that waits by yielding has finitely many schedules, because tasks
    /// that wait cannot pass over a task that is ready forever. Without one, the search goes on
    /// with ever longer waits. The first schedule of a search has no preemption.
    ///
    /// # Example
    /// ```
    /// use joint_sim::Explore;
    /// use joint_executor::{spawn, yield_now};
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering::Relaxed}};
    ///
    /// let explored = Explore::new().preemptions(2).run(|| async {
    ///     let is_ready = Arc::new(AtomicBool::new(false));
    ///     let seen = is_ready.clone();
    ///     let waits = spawn(async move {
    ///         while !seen.load(Relaxed) {
    ///             yield_now().await;
    ///         }
    ///     });
    ///     spawn(async move { is_ready.store(true, Relaxed) }).await;
    ///     waits.await;
    /// });
    /// assert!(explored?.is_complete);
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub fn preemptions(mut self, most: u32) -> Self {
        self.most_preemptions = most;
        self
    }

    /// Ends the search after this number of schedules.
    ///
    /// # Example
    /// ```
    /// use joint_sim::Explore;
    /// use joint_executor::{spawn, yield_now};
    ///
    /// let explored = Explore::new().max_schedules(100).run(|| async {
    ///     let tasks: Vec<_> = (0..20).map(|_| spawn(yield_now())).collect();
    ///     for task in tasks {
    ///         task.await;
    ///     }
    /// })?;
    /// assert_eq!(explored.schedules, 100);
    /// assert!(!explored.is_complete);
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub fn max_schedules(mut self, most: u64) -> Self {
        self.most_schedules = most;
        self
    }

    /// Runs a program once for each of its schedules.
    ///
    /// # Errors
    /// [`Failure`] of the first schedule in which the program fails, or if the program does
    /// something else although the same choices were made. The same search finds it again.
    ///
    /// # Panics
    /// If it is called inside a simulation.
    pub fn run<F: Future<Output: Verdict>>(
        &self,
        program: impl Fn() -> F,
    ) -> Result<Explored, Failure> {
        let search = Rc::new(RefCell::new(Search::new(self.most_preemptions)));
        let mut explored = Explored {
            schedules: 0,
            is_complete: false,
        };
        while explored.schedules < self.most_schedules {
            let strategy = Box::new(DepthFirst(search.clone()));
            let chance = Chance::new(self.settings.seed);
            let attempt = Attempt::run(&self.settings, chance, Some(strategy), &program);
            explored.schedules += 1;
            let of_schedule = |mut failure: Failure| {
                failure.set_schedule(explored.schedules);
                failure
            };
            attempt.ended.map_err(of_schedule)?;
            if search.borrow().has_diverged() {
                return Err(of_schedule(Failure::new(
                    self.settings.seed,
                    Kind::Diverged,
                    attempt.steps,
                    0,
                    [].into(),
                )));
            }
            if !search.borrow_mut().advance() {
                explored.is_complete = true;
                break;
            }
        }
        Ok(explored)
    }
}

/// The extent of a search.
///
/// # Example
/// ```
/// use joint_sim::Explore;
/// use joint_executor::spawn;
///
/// // Two tasks run in either order.
/// let explored = Explore::new().run(|| async {
///     let tasks = [spawn(async {}), spawn(async {})];
///     for task in tasks {
///         task.await;
///     }
/// })?;
/// assert!(explored.is_complete && explored.schedules >= 2);
/// # Ok::<(), joint_sim::Failure>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// The number of schedules that were run.
    pub schedules: u64,
    /// Whether every schedule of the program was run, within the bound on preemptions.
    pub is_complete: bool,
}
