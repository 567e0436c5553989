//! Runs the rows on simulated cores, compares them with what was published, and writes the tables
//! of `docs/cores.md` and its picture. `cargo xtask cores` calls it.

mod curves;
mod machines;
mod peers;
mod picture;
mod published;
mod rows;
mod work;

use std::{env, fmt, fs};

use loom::{Costs, Counts, counts, simulate};
use peers::Peer;
use rows::Run;

/// A figure by several seeds.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The least one.
    pub least: f64,
    /// The greatest one.
    pub most: f64,
    /// What has happened, by the first seed.
    pub counts: Counts,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, by) = match self.median {
            ..10_000.0 => ("", 1.0),
            _ => ("k", 1e3),
        };
        let [median, least, most] = [self.median, self.least, self.most].map(|value| value / by);
        write!(f, "{median:.0}{unit} ({least:.0}{unit} to {most:.0}{unit})")
    }
}

/// A figure. The sizes are the numbers of cores and of workers, and what the row gets.
pub fn figure<P: Peer>(
    seeds: u64,
    (cores, workers, load): (usize, usize, usize),
    machine: Costs,
    (run, work): (Run<P>, f64),
) -> Figure {
    let costs = Costs {
        work,
        waits: P::WAITS,
        ..machine
    };
    // One run: the first time warms everything up, and the second one counts.
    let once = |seed| {
        simulate(cores, costs, seed, move || {
            let peer = P::start(workers);
            run(peer, load);
            let before = counts();
            let figure = run(peer, load);
            (figure, counts().since(before))
        })
    };
    let mut runs: Vec<_> = (0..seeds).map(once).collect();
    let counts = runs[0].1;
    runs.sort_by(|one, other| one.0.total_cmp(&other.0));
    Figure {
        median: runs[runs.len() / 2].0,
        least: runs[0].0,
        most: runs[runs.len() - 1].0,
        counts,
    }
}

/// Puts a text between the marks of that name.
fn put(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (
        format!("<!-- begin {name} -->\n"),
        format!("<!-- end {name} -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("the mark is there");
    let (_, after) = rest.split_once(&end).expect("the mark is there");
    format!("{before}{begin}{text}{end}{after}")
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let [what, path] = &words[..] else {
        panic!("`page` or `sharded`, and the path of the page");
    };
    let mut page = fs::read_to_string(path).expect("the page is there");
    let mut put = |name, text: &str| {
        page = put(&page, name, text);
        fs::write(path, &page).expect("it can be written");
    };
    if what == "sharded" {
        return put("sharded", &published::table(true));
    }
    put("published", &published::table(false));
    let curves = curves::all();
    put("rows", &curves.rows);
    put("operations", &curves.operations);
    let drawn = picture::draw(&path.replace(".md", ".svg"), &curves.panels);
    drawn.expect("it can be drawn");
}
