//! Published times of tokio's bench `remote_spawn`: 12,800 tasks that do nothing, spawned by
//! threads outside, and joined.

use loom::Costs;

use crate::{figure, machines, peers::Tokio, rows::ROWS, work};

/// So many seeds; the table has the median, the least and the most.
const SEEDS: u64 = 5;

/// tokio #7944, on the ten cores of an M1 Max: threads, and nanoseconds by task.
const M1_MAX: [(usize, f64); 4] = [(1, 265.0), (2, 370.0), (4, 460.0), (8, 633.0)];

/// tokio #8483, on 64 cores: threads, and nanoseconds by task before, with one mutex, and after,
/// with shards. The published times are in milliseconds by run.
const SERVER: [(usize, f64, f64); 7] = [
    (1, 617.2, 617.2),
    (2, 891.4, 610.2),
    (4, 1617.2, 519.5),
    (8, 2539.8, 492.2),
    (16, 2393.0, 480.5),
    (32, 2356.3, 412.5),
    (64, 2175.8, 393.8),
];

/// A row of the table, and whether the point is within 30%.
fn row(what: &str, machine: Costs, cores: usize, threads: usize, published: f64) -> (String, bool) {
    let sizes = (cores, cores, threads);
    let run = (work::remote_spawn as _, ROWS[0].tokio.1);
    let simulated = figure::<Tokio>(SEEDS, sizes, machine, run);
    let off = simulated.median / published - 1.0;
    let row = format!(
        "| {what} | {threads} | {published:.0} | {simulated} | {:+.0} % |\n",
        100.0 * off
    );
    (row, off.abs() <= 0.3)
}

/// The table of the points for which this tokio has the source.
pub fn table(is_sharded: bool) -> String {
    let server = |what, threads, published| row(what, machines::SERVER, 64, threads, published);
    let rows: Vec<_> = if is_sharded {
        let after = |(threads, _, after)| server("64 cores, sharded", threads, after);
        SERVER.map(after).into()
    } else {
        let m1_max = |(threads, published)| row("M1 Max", machines::M1_MAX, 10, threads, published);
        let before = |(threads, before, _)| server("64 cores, one mutex", threads, before);
        let server = SERVER.into_iter().map(before);
        M1_MAX.into_iter().map(m1_max).chain(server).collect()
    };
    let hits = rows.iter().filter(|row| row.1).count();
    let (of, lines) = (rows.len(), rows.into_iter().map(|row| row.0));
    format!(
        "| machine | threads | published, ns | simulated, ns | off |\n|---|---|---|---|---|\n\
         {}\n{hits} of {of} are within 30 %.\n",
        lines.collect::<String>()
    )
}
