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
    /// each run finds a bug of depth `d` with a probability of at least 1/(n·k^(d-1)), unless a
    /// task must yield more than 64 times in a row for it. `k` is
    /// [`Builder::expected_steps`](super::Builder::expected_steps). If it is too small, the
    /// guarantee covers the first `k` polls only. After them, the choice is
    /// [`Random`](Self::Random), so that no task is kept from running forever.
    ///
    /// The algorithm and its proof: Burckhardt, Kothari, Musuvathi, Nagarakatte: *A Randomized
    /// Scheduler with Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010.
    ///
    /// # Cost
    /// A choice looks at each task that is ready.
    ///
    /// # Example
    /// ```
    /// use joint_executor::{JoinSet, yield_now};
    /// use joint_sim::{Builder, Scheduler};
    ///
    /// let program = || async {
    ///     let mut set = JoinSet::new();
    ///     set.spawn(yield_now());
    ///     set.spawn(yield_now());
    ///     while set.join_next().await.is_some() {}
    /// };
    /// // As many steps as the program takes at most.
    /// let steps = Builder::new(0).run(program())?.steps;
    /// let settings = Builder::new(1).scheduler(Scheduler::Pct { depth: 2 });
    /// settings.expected_steps(steps).run(program())?;
    /// # Ok::<(), joint_sim::Failure>(())
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

    /// Decides whether a task starts late that its spawner would poll at once.
    pub(super) fn starts_late(&self, chance: &mut Chance) -> bool {
        let late = match self {
            Self::RoundRobin => chance.decide(About::Start, 2, |_| 0),
            Self::Random | Self::Pct(_) => chance.below(About::Start, 2),
        };
        late == 1
    }
}
