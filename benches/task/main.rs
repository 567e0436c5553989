//! The task beside its peers.
//!
//! Two tables are printed first. The contestants take turns round by round, so each ratio compares
//! runs at the same time on the same machine. The first table has what the two task crates do by
//! themselves. The second has the same work in a task of a runtime, for which the two crates are
//! given a `VecDeque` as a queue. With `JOINT_CRITERION=1` the same rows then run under criterion,
//! for figures with a history.
//!
//! `cargo xtask bench task`, or `cargo bench -p joint-benches --bench task`; with `-- FILTER` only
//! the rows whose titles contain it; with `-- --test` each row runs once.

use std::time::Duration;

use criterion::Criterion;
use joint_benches::{allocator::Allocator, options::Options, report::Report, table::measure};

#[macro_use]
mod rows;
mod direct;
mod queued;

use direct::{async_task_task, joint_task};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Does one thing a number of times, and returns how long that took.
type Path = fn(u32) -> Duration;

/// How many tasks exist at once in the rows that make many.
const STORM: u32 = 1_000;

struct Compared {
    title: &'static str,
    /// How many times a round does it.
    times: u32,
    /// One for each contestant of the table, or `None` if the contestant cannot do the row.
    paths: Vec<Option<Path>>,
}

struct Comparison {
    title: &'static str,
    contestants: &'static [&'static str],
    rows: Vec<Compared>,
}

fn direct() -> Comparison {
    macro_rules! rows {
        ($($title:literal: $path:ident * $times:expr;)*) => {
            vec![$(Compared {
                title: $title,
                times: $times,
                paths: vec![
                    Some(joint_task::$path),
                    Some(async_task_task::$path),
                ],
            }),*]
        };
    }
    Comparison {
        title: "a task by hand, one thread",
        contestants: &["joint", "async-task"],
        rows: rows! {
            "spawn, run, join, drop": spawn_run_join * 5_000;
            "the same, the waiter is a task": waiting_task_first * 5_000;
            "spawn detached, run": spawn_detached * 5_000;
            "yield": yields * 10_000;
            "wake and run": wakes * 10_000;
            "join a task that has ended": join_ended * 5_000;
            "cancel 1,000 idle tasks": cancel_storm * STORM;
        },
    }
}

fn queued() -> Comparison {
    use queued::{with_async_task, with_joint, with_tokio};

    macro_rules! monoio {
        (rows::$path:ident) => {{
            #[cfg(unix)]
            let path: Option<Path> = Some(queued::with_monoio::rows::$path);
            #[cfg(not(unix))]
            let path = None;
            path
        }};
        ($rows:ident::$path:ident) => {
            None
        };
    }
    macro_rules! rows {
        ($($title:literal: $rows:ident::$path:ident * $times:expr;)*) => {
            vec![$(Compared {
                title: $title,
                times: $times,
                paths: vec![
                    Some(with_joint::$rows::$path),
                    Some(with_async_task::$rows::$path),
                    Some(with_tokio::$rows::$path),
                    monoio!($rows::$path),
                ],
            }),*]
        };
    }
    Comparison {
        title: "tasks in a queue, one thread",
        contestants: &["joint", "async-task", "tokio", "monoio"],
        rows: rows! {
            "spawn 1,000, join them": rows::spawn_join_many * STORM;
            "yield, 200 tasks in turn": rows::yields * 10_000;
            "wake 1,000 from another thread": rows_of_threads::wake_from_elsewhere * (10 * STORM);
        },
    }
}

/// The nanoseconds of each.
fn nanoseconds(path: Path, times: u32) -> f64 {
    path(times).as_secs_f64() * 1e9 / f64::from(times)
}

/// Reports medians over the rounds: of the times, and of each round's ratio to the first
/// contestant.
fn report(table: &Comparison, rounds: usize, options: &Options, report: &mut Report) {
    let rows = || table.rows.iter();
    let wanted = || rows().filter(|row| options.wants(table.title, row.title));
    if wanted().next().is_none() {
        return;
    }
    report.head(table.title, table.contestants.iter().copied());
    for row in wanted() {
        let (rounds, names) = (options.of(rounds, 1), table.contestants);
        measure(report, table.title, row.title, names, rounds, || {
            let times = |path| nanoseconds(path, row.times);
            let paths = row.paths.iter();
            paths.map(|path| path.map_or(f64::NAN, times)).collect()
        });
    }
}

fn main() {
    let options = Options::read();
    let mut written = Report::start("task", &options);
    let tables = [direct(), queued()];
    for (table, rounds) in tables.iter().zip([1001, 301]) {
        report(table, rounds, &options, &mut written);
    }
    written.end();
    if !options.wants_criterion() {
        return;
    }

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for table in &tables {
        for row in &table.rows {
            let mut group = criterion.benchmark_group(format!("{}: {}", table.title, row.title));
            for (name, path) in table.contestants.iter().zip(&row.paths) {
                let Some(path) = path else { continue };
                // Whole rounds, because some rows always make a fixed number of tasks at once.
                group.bench_function(*name, |b| {
                    b.iter_custom(|times| {
                        let rounds = times.div_ceil(u64::from(row.times)).min(1_000) as u32;
                        let asked = rounds * row.times;
                        path(asked).mul_f64(times as f64 / f64::from(asked))
                    });
                });
            }
            group.finish();
        }
    }
    criterion.final_summary();
}
