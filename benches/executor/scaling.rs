//! How the time of a row changes from one worker to all.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use super::rows::{MANY, fan_out, many_inside, many_outside, spawn_join};
use joint_benches::{
    options::Options,
    pools::{async_executor::AsyncExecutorStatic, joint::Joint, nio::Nio, tokio::TokioPool},
    report::{Measured, Report},
    runtime::{Pool, Runtime},
    table::{Row, Table},
};

/// One worker, and then more, up to all processors: every number up to four, and powers of two
/// above.
fn worker_counts() -> Vec<usize> {
    let all = thread::available_parallelism().map_or(1, usize::from);
    // A pool of forte has no more than 32 members.
    let all = all.min(30);
    let mut counts: Vec<_> = (1..all)
        .filter(|count| *count <= 4 || count.is_power_of_two())
        .collect();
    counts.push(all);
    counts
}

fn rows<R: Runtime>() -> Vec<Row<R>> {
    let row = |title, operations: usize, run| Row {
        title,
        operations: operations as u64,
        run,
    };
    vec![
        row("spawn and join", 1_000, spawn_join::<R>),
        row("10k spawned inside, joined", MANY, many_inside::<R>),
        row("10k spawned outside, joined", MANY, many_outside::<R>),
        row("fan of 1k, 1 us of work each", 1_000, work::<R, 1_000, 1>),
        row("fan of 200, 20 us of work each", 200, work::<R, 200, 20>),
    ]
}

/// About a microsecond of work that shares nothing.
fn microsecond() {
    let mut state = black_box(1u64);
    for _ in 0..800 {
        state = state.wrapping_mul(6_364_136_223_846_793_005) ^ (state >> 33);
    }
    black_box(state);
}

fn work<R: Runtime, const TASKS: usize, const MICROSECONDS: usize>(
    runtime: &'static R,
) -> Duration {
    runtime.run(async move {
        let start = Instant::now();
        fan_out(runtime, TASKS, |_| async {
            (0..MICROSECONDS).for_each(|_| microsecond());
        })
        .await;
        start.elapsed()
    })
}

/// Adds a contestant at each number of workers.
fn with<R: Pool>(table: Table, name: &str) -> Table {
    let counts = worker_counts();
    counts.iter().fold(table, |table, count| {
        table.with(format!("{name} {count}"), R::start(*count), rows())
    })
}

/// All contestants at all numbers of workers take turns. Beside each figure stands its ratio to the
/// same contestant's figure with one worker.
pub(crate) fn print(options: &Options, report: &mut Report) {
    const TITLE: &str = "scaling";
    if options.wants_none_of(TITLE, rows::<Joint>().iter().map(|row| row.title)) {
        return;
    }
    let names = ["joint", "tokio", "async-executor static", "nio", "forte"];
    let table = Table::new(TITLE, Duration::from_secs(5));
    let table = with::<Joint>(table, names[0]);
    let table = with::<TokioPool>(table, names[1]);
    let table = with::<AsyncExecutorStatic>(table, names[2]);
    let table = with::<Nio>(table, names[3]);
    #[cfg(joint_peers)]
    let table = with::<joint_benches::pools::forte::Forte>(table, names[4]);
    let names = &names[..if cfg!(joint_peers) { 5 } else { 4 }];

    println!("\nBeside each figure: its ratio to the same contestant's figure with one worker.");
    println!("\n| scaling | workers | {} |", names.join(" | "));
    println!("|{}", "---|".repeat(2 + names.len()));
    let counts = worker_counts();
    table.each_row(options, report, |title, figures, report| {
        for (n, workers) in counts.iter().enumerate() {
            let of_each = names.iter().zip(figures.chunks(counts.len()));
            let ns = |of_one: &[Measured], n: usize| of_one[n].value.expect("all have all rows");
            let cells = of_each.clone().map(|(_, of_one)| {
                let ratio = ns(of_one, n) / ns(of_one, 0);
                format!("{:.1} ({ratio:.2})", ns(of_one, n))
            });
            let cells: Vec<_> = cells.collect();
            println!("| {title} | {workers} | {} |", cells.join(" | "));
            if n == 0 {
                continue;
            }
            let parts = of_each.map(|(name, of_one)| {
                let part = ns(of_one, n) / ns(of_one, 0);
                Measured {
                    contestant: (*name).to_owned(),
                    value: Some(part),
                    ratio: part,
                    is_peer: *name != "joint",
                }
            });
            let table = format!("time with {workers} workers, as a part of one's");
            report.record_row(&table, title, "part", &parts.collect::<Vec<_>>());
        }
    });
}
