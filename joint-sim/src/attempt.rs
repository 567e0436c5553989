//! One of many runs of the same program.

use super::{
    chance::Chance,
    failure::{Failure, Kind},
    settings::Builder,
    verdict::Verdict,
    world::{Kept, World},
};

/// A run that is over.
pub(super) struct Attempt {
    pub(super) ended: Result<(), Failure>,
    #[cfg(test)]
    pub(super) digest: u64,
    pub(super) steps: u64,
    /// The first line of each panic that has begun.
    pub(super) panics: Vec<String>,
    /// The kept decisions and events. Empty unless the settings ask for them.
    pub(super) kept: Kept,
}

impl Attempt {
    /// Runs a program once. The program is called inside the world.
    pub(super) fn run<F: IntoFuture<Output: Verdict>>(
        settings: &Builder,
        chance: Chance,
        program: &impl Fn() -> F,
    ) -> Self {
        let world = World::new(settings, chance);
        let ended = world.run(async {
            if let Some(error) = program().await.error() {
                world.fail(Kind::Error(error));
            }
        });
        Self {
            ended,
            #[cfg(test)]
            digest: world.digest(),
            steps: world.steps(),
            panics: world.panics_begun(),
            kept: world.take_kept(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Scheduler;
    use joint_executor::{JoinSet, chance::random, time::sleep, yield_now};
    use std::time::Duration;

    async fn program() {
        let mut set = JoinSet::new();
        for _ in 0..6 {
            set.spawn(async {
                for _ in 0..random() % 4 {
                    yield_now().await;
                }
                sleep(Duration::from_nanos(random() % 50)).await;
            });
        }
        while set.join_next().await.is_some() {}
    }

    /// Shrinking and replays rely on this: the decisions are all that a scheduler does.
    #[test]
    fn the_decisions_of_each_scheduler_replay_without_it() {
        let pct = |depth| Scheduler::Pct { depth };
        for scheduler in [Scheduler::Random, Scheduler::RoundRobin, pct(1), pct(3)] {
            for seed in 0..40 {
                let mut settings = Builder::new(seed).scheduler(scheduler.clone());
                settings.keeps_trace = true;
                let settings = settings.expected_steps(30);
                let first = Attempt::run(&settings, Chance::new(seed), &program);
                first.ended.unwrap();
                let mut chance = Chance::new(seed);
                chance.replay(&first.kept.decisions);
                let settings = settings.scheduler(Scheduler::Random);
                let again = Attempt::run(&settings, chance, &program);
                assert_eq!(again.digest, first.digest, "{scheduler:?} {seed}");
                assert_eq!(again.kept.trace.events, first.kept.trace.events);
                assert_eq!(again.kept.decisions, first.kept.decisions);
            }
        }
    }
}
