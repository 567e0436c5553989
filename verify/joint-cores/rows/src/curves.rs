//! The twelve rows by numbers of cores.

use std::thread;

use crate::{
    Figure, figure, machines,
    peers::{Joint, Peer, Tokio},
    picture::Panel,
    rows::{ROWS, Row, Run},
};

/// The numbers of cores.
pub const CORES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Those of the table of operations, by their places.
const SOME: [usize; 3] = [1, 3, 6];
/// Few, because the curves take long.
const SEEDS: u64 = 3;

/// One for each number of cores.
pub type Figures = [Figure; CORES.len()];

/// The tables and the picture.
pub struct Curves {
    /// The figures.
    pub rows: String,
    /// What joint does by operation.
    pub operations: String,
    /// The picture, row by row.
    pub panels: Vec<Panel>,
}

/// A thread of its own has lists of memory that no other row has used.
fn figures<P: Peer>(of: (Run<P>, f64)) -> Figures {
    let of = |cores| figure(SEEDS, (cores, cores, cores), machines::SERVER, of);
    let run = || CORES.map(of);
    thread::scope(|scope| scope.spawn(run).join()).expect("no panics")
}

/// What has happened by operation.
fn operations(row: &Row, place: usize, figures: &Figures) -> String {
    let counts = figures[place].counts;
    let by = |count: u64| count as f64 / (row.operations)(CORES[place]) as f64;
    format!(
        "| {} | {} | {:.2} | {:.2} | {:.2} | {:.3} | {:.2} |\n",
        row.title,
        CORES[place],
        by(counts.moves),
        by(counts.exchanges),
        by(counts.fences),
        by(counts.wakes),
        by(counts.allocations)
    )
}

/// Runs all rows, one after the other.
pub fn all() -> Curves {
    let numbers = CORES.map(|cores| cores.to_string()).join(" | ");
    let columns = "---|".repeat(CORES.len());
    let mut curves = Curves {
        rows: format!("| row | scheduler | {numbers} |\n|---|---|{columns}\n"),
        operations: "| row, by operation | cores | lines that move | read-modify-writes | fences | wake-ups of threads | allocations |\n\
                     |---|---|---|---|---|---|---|\n".to_owned(),
        panels: Vec::new(),
    };
    for row in &ROWS {
        let named = [
            (Joint::NAME, figures(row.joint)),
            (Tokio::NAME, figures(row.tokio)),
        ];
        for (name, figures) in &named {
            let cells = figures.map(|figure| figure.to_string()).join(" | ");
            let line = format!("| {} | {name} | {cells} |\n", row.title);
            print!("{line}");
            curves.rows += &line;
        }
        for place in SOME {
            curves.operations += &operations(row, place, &named[0].1);
        }
        curves.panels.push(Panel {
            title: row.title,
            is_divided: row.is_divided,
            curves: named.into(),
        });
    }
    curves
}
