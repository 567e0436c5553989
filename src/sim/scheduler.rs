//! Which of the tasks that are ready runs next.

use alloc::collections::VecDeque;

use super::{chance::Chance, record::Actor, world::Due};

/// The way in which a simulation chooses the task that runs next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduler {
    /// Any task that is ready, each with the same probability. The default.
    Random,
    /// The task that has been ready for longest.
    RoundRobin,
}

/// A scheduler in a run.
pub(super) trait Strategy {
    /// Chooses one of the tasks that are ready, of which there is at least one, by its place.
    fn choose(&mut self, due: &VecDeque<Due>, last: Actor, chance: &mut Chance) -> usize;
}

impl Scheduler {
    pub(super) fn strategy(&self) -> alloc::boxed::Box<dyn Strategy> {
        match self {
            Self::Random => alloc::boxed::Box::new(Random),
            Self::RoundRobin => alloc::boxed::Box::new(RoundRobin),
        }
    }
}

struct Random;

impl Strategy for Random {
    fn choose(&mut self, due: &VecDeque<Due>, _: Actor, chance: &mut Chance) -> usize {
        match due.len() {
            1 => 0,
            several => chance.below(several),
        }
    }
}

struct RoundRobin;

impl Strategy for RoundRobin {
    fn choose(&mut self, _: &VecDeque<Due>, _: Actor, _: &mut Chance) -> usize {
        0
    }
}
