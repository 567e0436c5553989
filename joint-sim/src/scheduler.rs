//! Which of the tasks that are ready runs next.
//!
//! Each choice between several tasks is one decision: the place of the task among those that are
//! ready. This holds for every scheduler, so the decisions of a run can be replayed without the
//! scheduler that made them.

mod pct;

use std::collections::VecDeque;

use self::pct::Pct;
use super::{
    chance::{About, Chance},
    tasks::Due,
};

/// The way in which a simulation chooses the task that runs next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduler {
    /// Any task that is ready, each with the same probability. The default.
    Random,
    /// The task that has been ready for longest.
    RoundRobin,
    /// Probabilistic concurrency testing, for bugs of this depth.
    ///
    /// Each task has a random priority, and of the tasks that are ready, the one with the highest
    /// priority runs. At `depth - 1` random steps, the task that would run next falls below all
    /// others. A depth of 0 is taken as 1.
    ///
    /// A task that has yielded 64 times in a row while others are ready falls below all others too,
    /// because it probably waits for one of them. A yield is a wake-up of a task in its own poll.
    ///
    /// # Guarantee
    /// The *depth* of a bug is the smallest number of pairs of polls for which it is enough that
    /// the first of each pair comes before the second. A wake-up that comes before somebody waits
    /// has depth 1; an update that gets lost between a read and a write has depth 2.
    ///
    /// If a program has at most `n` tasks (with the main future) and makes at most `k` polls, then
    /// each run finds a bug of depth `d` with a probability of at least 1/(n·k^(d-1)). How many
    /// other schedules there are does not matter. `k` is
    /// [`Builder::expected_steps`](super::Builder::expected_steps). It may be too large, at the
    /// price in the formula. If it is too small, the guarantee covers the first `k` polls only. It
    /// does not cover bugs for which a task must yield more than 64 times in a row.
    ///
    /// After `k` polls, the choice is [`Random`](Self::Random). Otherwise tasks that wake each
    /// other until another one has done something could keep that one from running forever.
    ///
    /// The algorithm and its proof: Burckhardt, Kothari, Musuvathi, Nagarakatte: *A Randomized
    /// Scheduler with Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010.
    ///
    /// # Cost
    /// A choice looks at each task that is ready.
    ///
    /// # Example
    /// Both halves of an update can be split by another task. The bug has depth 2.
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering::Relaxed}};
    /// use joint_sim::{Builder, Scheduler};
    /// use joint_executor::{spawn, yield_now};
    ///
    /// async fn count() -> u32 {
    ///     let count = Arc::new(AtomicU32::new(0));
    ///     let add = || {
    ///         let count = count.clone();
    ///         spawn(async move {
    ///             let seen = count.load(Relaxed);
    ///             yield_now().await;
    ///             count.store(seen + 1, Relaxed);
    ///         })
    ///     };
    ///     for task in [add(), add()] {
    ///         task.await;
    ///     }
    ///     count.load(Relaxed)
    /// }
    ///
    /// let run = |seed| {
    ///     let settings = Builder::new(seed).scheduler(Scheduler::Pct { depth: 2 });
    ///     settings.expected_steps(8).run(count()).unwrap().output
    /// };
    /// assert!((0..100).any(|seed| run(seed) == 1));
    /// assert!((0..100).any(|seed| run(seed) == 2));
    /// ```
    Pct {
        /// The depth of the bugs to look for. Most bugs have a depth of at most 3.
        depth: u32,
    },
}

pub(super) enum Chooser {
    Random,
    RoundRobin,
    Pct(Box<Pct>),
}

impl Scheduler {
    pub(super) fn chooser(&self, expected_steps: u64) -> Chooser {
        match *self {
            Self::Random => Chooser::Random,
            Self::RoundRobin => Chooser::RoundRobin,
            Self::Pct { depth } => Chooser::Pct(Box::new(Pct::new(depth, expected_steps))),
        }
    }
}

impl Chooser {
    /// Chooses one of the tasks that are ready, of which there is at least one, by its place. If
    /// there are several, it makes one decision.
    #[inline(always)]
    pub(super) fn choose(&mut self, due: &VecDeque<Due>, chance: &mut Chance) -> usize {
        match self {
            Self::Pct(pct) => pct.choose(due, chance),
            _ if due.len() == 1 => 0,
            Self::Random => chance.below(About::Order, due.len()),
            Self::RoundRobin => chance.decide(About::Order, due.len(), |_| 0),
        }
    }
}
