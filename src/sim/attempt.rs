//! One of many runs of the same program.

use alloc::boxed::Box;
use core::future::Future;

use super::{
    Builder,
    chance::Chance,
    failure::Failure,
    scheduler::Strategy,
    world::{Kept, World},
};

/// A run that is over.
pub(super) struct Attempt {
    /// How it ended.
    pub(super) ended: Result<(), Failure>,
    pub(super) digest: u64,
    pub(super) steps: u64,
    /// Empty unless the settings say that it is kept.
    pub(super) kept: Kept,
}

impl Attempt {
    /// Runs a program once. The program is called inside the world. A strategy takes the place of
    /// the one in the settings.
    pub(super) fn run<F: Future<Output = ()>>(
        settings: &Builder,
        chance: Chance,
        strategy: Option<Box<dyn Strategy>>,
        program: &impl Fn() -> F,
    ) -> Self {
        let world = World::new(settings, chance);
        if let Some(strategy) = strategy {
            world.use_strategy(strategy);
        }
        let ended = world.run(async { program().await });
        Self {
            ended: ended.map_err(|mut failure| {
                failure.set_seed(settings.seed);
                failure
            }),
            digest: world.digest(),
            steps: world.steps(),
            kept: world.take_kept(),
        }
    }
}
