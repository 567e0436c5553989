//! Runs the rows on simulated cores, compares them with what was measured and published, and writes
//! the tables of `docs/cores.md`. `cargo xtask cores` calls it.

mod machines;
mod measured;
mod page;
mod peers;
mod published;
mod rows;
mod work;

use std::{collections::HashMap, env, fs};

use loom::{Costs, Counts, Waits, counts, simulate};
use peers::{Joint, Peer, Tokio};
use rows::{Of, Row, Run};

/// The numbers of cores of the curves.
pub const CORES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// So many seeds; the tables have the median, the least and the most.
const SEEDS: u64 = 5;

/// A figure by several seeds.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The least one.
    pub least: f64,
    /// The greatest one.
    pub most: f64,
    /// What has happened, by the last seed.
    pub counts: Counts,
}

/// The costs of a machine for a scheduler: tokio waits as the locks of parking_lot do.
fn costs_for<P: Peer>(machine: Costs, work: f64) -> Costs {
    let waits = match P::NAME {
        "tokio" => Waits::Yields,
        _ => Waits::Looks,
    };
    Costs {
        work,
        waits,
        ..machine
    }
}

/// One run: the first time warms everything up, and the second one counts.
fn once<P: Peer>(
    (cores, workers, load): (usize, usize, usize),
    costs: Costs,
    seed: u64,
    run: Run<P>,
) -> (f64, Counts) {
    simulate(cores, costs, seed, move || {
        let peer = P::start(workers);
        run(peer, load);
        let before = counts();
        let figure = run(peer, load);
        (figure, counts().since(before))
    })
}

/// A figure. `sizes` are the numbers of cores and of workers, and what the row gets.
pub fn figure<P: Peer>(sizes: (usize, usize, usize), costs: Costs, run: Run<P>) -> Figure {
    let runs = (0..SEEDS).map(|seed| once(sizes, costs, seed, run));
    let mut runs: Vec<_> = runs.collect();
    let counts = runs[0].1;
    runs.sort_by(|one, other| one.0.total_cmp(&other.0));
    Figure {
        median: runs[runs.len() / 2].0,
        least: runs[0].0,
        most: runs[runs.len() - 1].0,
        counts,
    }
}

/// The work between two accesses with which a row takes as long on one core as it was measured.
/// The time is the more the longer the work is, and almost in proportion.
fn work_of<P: Of>(row: &Row, machine: Costs) -> f64 {
    let measured = measured::find(row.title);
    let goal = if P::NAME == "tokio" {
        measured.tokio[0]
    } else {
        measured.joint[0]
    };
    let at = |work: f64| once((1, 1, 1), costs_for::<P>(machine, work), 0, P::of(row)).0;
    let (few, many) = (at(1.0), at(5.0));
    (1.0 + 4.0 * (goal - few) / (many - few)).max(0.0)
}

/// The work of each row, by scheduler and title.
pub struct Works(HashMap<(&'static str, &'static str), f64>);

impl Works {
    fn new() -> Self {
        let mut all = HashMap::new();
        for row in rows::all().iter().filter(|row| row.has_work()) {
            all.insert(
                (Joint::NAME, row.title),
                work_of::<Joint>(row, machines::HERE),
            );
            all.insert(
                (Tokio::NAME, row.title),
                work_of::<Tokio>(row, machines::HERE),
            );
        }
        Self(all)
    }

    /// The work of a row. Those that measure one latency have that of spawn and join.
    pub fn of<P: Peer>(&self, row: &Row) -> f64 {
        let title = if row.has_work() {
            row.title
        } else {
            rows::SPAWN_JOIN
        };
        self.0[&(P::NAME, title)]
    }
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let works = Works::new();
    match words.first().map(String::as_str) {
        Some("calibration") => print!("{}", page::calibration(&works)),
        Some("measured") => print!("{}", page::measured(&works).0),
        Some("published") => print!("{}", published::table(&works, false)),
        Some("sharded") => print!("{}", published::table(&works, true)),
        Some("rows") => print!("{}", page::rows(&works, words.get(1)).0),
        _ => {
            let path = words.first().expect("the page");
            let page = fs::read_to_string(path).expect("the page is there");
            let (page, picture) = page::write(&page, &works);
            fs::write(path, page).expect("it can be written");
            fs::write(path.replace(".md", ".svg"), picture).expect("it can be written");
        }
    }
}
