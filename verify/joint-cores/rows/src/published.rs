//! Published times of tokio's bench `remote_spawn`: 12,800 tasks that do nothing, spawned by
//! threads outside, and joined.

use std::fmt::Write as _;

use loom::Costs;

use crate::{figure, machines, peers::Tokio, rows::ROWS, work};

/// So many seeds; the table has the median, the least and the most.
const SEEDS: u64 = 5;

struct Points {
    what: &'static str,
    machine: Costs,
    cores: usize,
    /// Threads, and nanoseconds by task.
    points: &'static [(usize, f64)],
}

/// tokio #7944.
const M1_MAX: Points = Points {
    what: "M1 Max",
    machine: machines::M1_MAX,
    cores: 10,
    points: &[(1, 265.0), (2, 370.0), (4, 460.0), (8, 633.0)],
};

/// tokio #8483, before. The published times are in milliseconds by run.
const MUTEX: Points = Points {
    what: "64 cores, one mutex",
    machine: machines::SERVER,
    cores: 64,
    points: &[
        (1, 617.2),
        (2, 891.4),
        (4, 1617.2),
        (8, 2539.8),
        (16, 2393.0),
        (32, 2356.3),
        (64, 2175.8),
    ],
};

/// tokio #8483, after.
const SHARDED: Points = Points {
    what: "64 cores, sharded",
    machine: machines::SERVER,
    cores: 64,
    points: &[
        (1, 617.2),
        (2, 610.2),
        (4, 519.5),
        (8, 492.2),
        (16, 480.5),
        (32, 412.5),
        (64, 393.8),
    ],
};

impl Points {
    /// The table's rows, and how many points are within 30%.
    fn rows(&self) -> (String, usize) {
        let between = ROWS[0].tokio.1;
        let (mut out, mut hits) = (String::new(), 0);
        for &(threads, published) in self.points {
            let sizes = (self.cores, self.cores, threads);
            let simulated =
                figure::<Tokio>(SEEDS, sizes, self.machine, (work::remote_spawn, between));
            let off = simulated.median / published - 1.0;
            hits += usize::from(off.abs() <= 0.3);
            _ = writeln!(
                out,
                "| {} | {threads} | {published:.0} | {simulated} | {:+.0} % |",
                self.what,
                100.0 * off
            );
        }
        (out, hits)
    }
}

/// The table of the points for which this tokio has the source.
pub fn table(is_sharded: bool) -> String {
    let all: &[Points] = match is_sharded {
        true => &[SHARDED],
        false => &[M1_MAX, MUTEX],
    };
    let mut out =
        "| machine | threads | published, ns | simulated, ns | off |\n|---|---|---|---|---|\n"
            .to_owned();
    let mut hits = 0;
    for points in all {
        let (rows, own) = points.rows();
        out += &rows;
        hits += own;
    }
    let of: usize = all.iter().map(|points| points.points.len()).sum();
    _ = writeln!(out, "\n{hits} of {of} are within 30 %.");
    out
}
