//! Runs the rows on simulated cores, compares them with what was measured and published, and writes
//! the tables of `docs/cores.md`. `cargo xtask cores` calls it.

mod curves;
mod machines;
mod measured;
mod page;
mod peers;
mod published;
mod rows;
mod work;

use std::{env, fs};

use loom::{Costs, Counts, Waits, counts, simulate};
use peers::Peer;
use rows::{Of, Row, Run};

/// The numbers of cores of the curves.
pub const CORES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// So many seeds; the tables have the median, the least and the most.
const SEEDS: u64 = 5;
/// Fewer for the curves, which take long.
const FEW_SEEDS: u64 = 3;

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
pub fn figure<P: Peer>(
    seeds: u64,
    sizes: (usize, usize, usize),
    costs: Costs,
    run: Run<P>,
) -> Figure {
    let runs = (0..seeds).map(|seed| once(sizes, costs, seed, run));
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
/// The time is the more the longer the work is, and almost in proportion. Rows that measure one
/// latency have the work of spawn and join.
fn work_of<P: Of>(row: &Row) -> f64 {
    let rows = rows::all();
    let mut rows = rows.iter();
    let title = if row.has_work() {
        row.title
    } else {
        rows::SPAWN_JOIN
    };
    let row = rows.find(|row| row.title == title).expect("it is a row");
    let goal = measured::find(row.title).of::<P>()[0];
    let at = |work| {
        once(
            (1, 1, 1),
            costs_for::<P>(machines::HERE, work),
            0,
            P::of(row),
        )
        .0
    };
    let (few, many) = (at(1.0), at(5.0));
    (1.0 + 4.0 * (goal - few) / (many - few)).max(0.0)
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let [what, path] = &words[..] else {
        panic!("`page` or `sharded`, and the path of the page");
    };
    if what == "row" {
        let number: usize = path.parse().expect("the number of a row");
        return print!("{}", curves::of_row(&rows::all()[number]));
    }
    let mut page = fs::read_to_string(path).expect("the page is there");
    let mut put = |name, text: &str| {
        page = page::put(&page, name, text);
        fs::write(path, &page).expect("it can be written");
    };
    match &**what {
        "sharded" => put("sharded", &published::table(true)),
        _ => {
            put("calibration", &page::calibration());
            put("measured", &page::measured());
            put("published", &published::table(false));
            let curves = curves::all();
            put("rows", &curves.rows);
            put("operations", &curves.operations);
            fs::write(path.replace(".md", ".svg"), curves.picture).expect("it can be written");
        }
    }
}
