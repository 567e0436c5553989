//! How fast simulations run.

use std::time::{Duration, Instant};

use joint_benches::{
    options::Options,
    report::Report,
    table::{Run, Table},
};
use joint_sim::Builder;

use super::{
    bugs::{Joint, Runtime},
    runtimes::Tokio,
};

fn timed(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

fn simulate(future: impl Future<Output = ()>) -> Duration {
    timed(|| {
        Builder::new(1).run(future).expect("no run fails");
    })
}

fn paused(future: impl Future<Output = ()>) -> Duration {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    timed(|| runtime.block_on(future))
}

async fn yields<R: Runtime>(tasks: u64, times: u64) {
    let task = |_| {
        R::spawn(async move {
            for _ in 0..times {
                R::yield_now().await;
            }
        })
    };
    for task in (0..tasks).map(task).collect::<Vec<_>>() {
        task.await;
    }
}

const TASKS: u64 = 100;

/// Tasks that yield in turn. The run's start and end are part of the time.
pub(crate) fn switches(options: &Options) -> Table {
    let times = options.of(1_000, 10);
    let row = |run: Run| [("100 tasks yield 1,000 times", TASKS * times, run)];
    let joint = move || simulate(yields::<Joint>(TASKS, times));
    let tokio = move || paused(yields::<Tokio>(TASKS, times));
    let table = Table::new("task switches, simulated", Duration::from_secs(2))
        .with_runs("joint random", row(Box::new(joint)))
        .with_runs("tokio paused", row(Box::new(tokio)));
    #[cfg(joint_peers)]
    let table = {
        use super::shuttle::{Shuttle, run};
        use shuttle::{MaxSteps, future::block_on, scheduler::RandomScheduler};

        let shuttle = move || {
            let scheduler = RandomScheduler::new_from_seed(1, 1);
            timed(|| {
                run(scheduler, MaxSteps::None, move || {
                    block_on(yields::<Shuttle>(TASKS, times));
                });
            })
        };
        table.with_runs("shuttle random", row(Box::new(shuttle)))
    };
    table
}

/// Returns the next of a sequence of numbers (xorshift64).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The times for which one task sleeps, in whole milliseconds below a minute.
fn naps(task: u64, total: Duration) -> impl Iterator<Item = Duration> {
    let mut state = (task + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut left = total;
    std::iter::from_fn(move || {
        if left.is_zero() {
            return None;
        }
        let nap = Duration::from_millis((next(&mut state) >> 33) % 60_000).min(left);
        left -= nap;
        Some(nap)
    })
}

async fn sleepers<R, S>(tasks: u64, total: Duration, sleep: fn(Duration) -> S)
where
    R: Runtime,
    S: Future<Output = ()> + Send + 'static,
{
    let task = |task| {
        R::spawn(async move {
            for nap in naps(task, total) {
                sleep(nap).await;
            }
        })
    };
    for task in (0..tasks).map(task).collect::<Vec<_>>() {
        task.await;
    }
}

/// A virtual day, in milliseconds of real time.
pub(crate) fn print_day(options: &Options, report: &mut Report) {
    const NANOS_IN_MILLI: u64 = 1_000_000;

    let tasks = 1_000;
    let total = options.of(Duration::from_secs(86_400), Duration::from_secs(60));
    let row = |run: Run| [("1,000 tasks sleep", NANOS_IN_MILLI, run)];
    let simulated = move || {
        let tasks = sleepers::<Joint, _>(tasks, total, joint_executor::time::sleep);
        simulate(tasks)
    };
    let tokio = move || paused(sleepers::<Tokio, _>(tasks, total, tokio::time::sleep));
    let title = "a virtual day";
    let table = Table::new(title, Duration::from_secs(10))
        .with_runs("joint random", row(Box::new(simulated)))
        .with_runs("tokio paused", row(Box::new(tokio)))
        .heavy();
    let mut has_head = false;
    table.each_row(options, report, |row, figures, report| {
        if !std::mem::replace(&mut has_head, true) {
            report.head(title, figures.iter().map(|figure| &*figure.contestant));
        }
        report.row(title, row, "ms", figures);
    });
}
