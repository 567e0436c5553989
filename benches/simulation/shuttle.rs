//! shuttle, which runs the programs that need neither time nor a network.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use shuttle::{
    Config, FailurePersistence, MaxSteps, Runner,
    future::{JoinHandle, block_on, spawn, yield_now},
    scheduler::{PctScheduler, RandomScheduler, Scheduler},
};

use super::{
    bugs::{Bug, Runtime, Version, timeless},
    found::{Limits, MOST_STEPS},
    runtimes::CancelledByDrop,
};

pub(crate) struct Shuttle;

impl Runtime for Shuttle {
    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + Unpin
    where
        F: Future<Output: Send> + Send + 'static,
    {
        CancelledByDrop {
            handle: spawn(future),
            abort: JoinHandle::abort,
            has_ended: false,
        }
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        yield_now()
    }
}

/// Runs a program as often as the scheduler says. Each run that takes too many steps is given up.
pub(crate) fn run(
    scheduler: impl Scheduler + 'static,
    most_steps: MaxSteps,
    f: impl Fn() + Send + Sync + 'static,
) {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = most_steps;
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(f);
}

fn needed(bug: &Bug, version: Version, scheduler: impl Scheduler + 'static) -> Option<u64> {
    let all = timeless::<Shuttle>();
    let program = all.iter().find(|own| own.name == bug.name)?.program;
    let runs = Arc::new(AtomicU64::new(0));
    let count = runs.clone();
    let program = move || {
        count.fetch_add(1, Relaxed);
        block_on(program(version));
    };
    let run = AssertUnwindSafe(|| run(scheduler, MaxSteps::ContinueAfter(MOST_STEPS), program));
    let ended = catch_unwind(run);
    ended.is_err().then(|| runs.load(Relaxed))
}

pub(crate) fn random(bug: &Bug, version: Version, start: u64, limits: Limits) -> Option<u64> {
    let scheduler = RandomScheduler::new_from_seed(start, limits.runs as usize);
    needed(bug, version, scheduler)
}

/// Of depth 2.
pub(crate) fn pct(bug: &Bug, version: Version, start: u64, limits: Limits) -> Option<u64> {
    let scheduler = PctScheduler::new_from_seed(start, 2, limits.runs as usize);
    needed(bug, version, scheduler)
}
