//! What was measured on the machine of [`HERE`](crate::machines::HERE), by `here.rs`: the
//! medians of four runs, while nothing else ran on the machine.

use crate::{peers::Peer, rows::SPAWNERS};

/// Nanoseconds by operation, on one processor and on two.
pub struct Measured {
    title: &'static str,
    /// joint's.
    pub joint: [f64; 2],
    /// tokio's.
    pub tokio: [f64; 2],
}

const fn row(title: &'static str, joint: [f64; 2], tokio: [f64; 2]) -> Measured {
    Measured {
        title,
        joint,
        tokio,
    }
}

const MEASURED: &[Measured] = &[
    row(SPAWNERS, [61.5, 76.8], [622.2, 398.6]),
    row(
        "3,200 waiting tasks woken by a thread for each core",
        [130.8, 180.9],
        [755.3, 486.2],
    ),
    row(
        "as many tasks as sleeping workers, from outside: the last begins",
        [17_661.0, 1_478_342.0],
        [23_590.0, 2_823_296.0],
    ),
    row(
        "as many tasks as workers, from a task: the last begins",
        [326.0, 69_268.0],
        [55.0, 5_006_028.0],
    ),
    row("spawn and join, on each", [49.3, 44.5], [247.2, 253.5]),
    row("fan of 1k", [47.1, 60.0], [230.2, 275.5]),
    row(
        "flat scope: 1,000 tasks of 1 us",
        [1094.8, 1095.6],
        [1288.0, 741.1],
    ),
    row("fib(20), one branch spawned", [92.8, 99.3], [294.9, 270.4]),
    row("100 tasks yield, on each", [16.1, 11.5], [47.8, 37.2]),
    row(
        "ten tasks yield, all other workers idle",
        [15.6, 16.3],
        [64.4, 66.0],
    ),
    row(
        "a chain of 1,000 tasks, each of which joins the next",
        [83.6, 87.5],
        [266.8, 416.3],
    ),
    row(
        "timers of 200 us on busy workers: how late",
        [182_810.0, 154_329.0],
        [798_056.0, 796_093.0],
    ),
    row("spawn and join", [50.3, 52.5], [217.8, 289.3]),
    row("10k spawned inside, joined", [46.8, 48.2], [444.9, 402.0]),
    row("fan of 1k, each yields once", [61.6, 64.7], [246.3, 248.1]),
    row("yield, 200 x 100", [16.1, 16.9], [47.0, 26.9]),
    row("10k spawned outside, joined", [76.4, 93.5], [743.0, 405.0]),
    row("fan of 1k, on each", [47.0, 53.5], [243.9, 1065.9]),
];

impl Measured {
    /// A scheduler's times.
    pub fn of<P: Peer>(&self) -> [f64; 2] {
        match P::NAME {
            "tokio" => self.tokio,
            _ => self.joint,
        }
    }
}

/// The times of a row.
pub fn find(title: &str) -> &'static Measured {
    let mut rows = MEASURED.iter();
    rows.find(|row| row.title == title)
        .expect("the row was measured")
}
