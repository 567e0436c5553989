//! The tables of the page.

use std::fmt::Write as _;

use crate::{
    Figure, SEEDS, costs_for, figure, machines, measured,
    peers::{Joint, Tokio},
    rows::{self, Of, Row},
    work_of,
};

/// Within so much of the measured time.
const BAR: f64 = 0.25;
const PROCESSORS: usize = 2;

/// What the work between two accesses is, row by row.
pub fn calibration() -> String {
    let mut out = "| row | joint, measured on one processor, ns | work between two accesses, ns | tokio, measured | work |\n\
                   |---|---|---|---|---|\n".to_owned();
    for row in rows::all().iter().filter(|row| row.has_work()) {
        let measured = measured::find(row.title);
        let (joint, tokio) = (work_of::<Joint>(row), work_of::<Tokio>(row));
        _ = writeln!(
            out,
            "| {} | {:.0} | {joint:.1} | {:.0} | {tokio:.1} |",
            row.title, measured.joint[0], measured.tokio[0]
        );
    }
    out
}

/// A row of the table of measured rows, and whether it is hit.
fn compare<P: Of>(row: &Row) -> (String, bool) {
    let costs = costs_for::<P>(machines::HERE, work_of::<P>(row));
    let simulated = figure::<P>(
        SEEDS,
        (PROCESSORS, PROCESSORS, PROCESSORS),
        costs,
        P::of(row),
    );
    let measured = measured::find(row.title).of::<P>()[1];
    let off = simulated.median / measured - 1.0;
    let (title, name, shown) = (row.title, P::NAME, shown(simulated));
    let line = format!(
        "| {title} | {name} | {measured:.0} | {shown} | {:+.0} % |\n",
        100.0 * off
    );
    (line, off.abs() <= BAR)
}

/// The measured rows beside the simulated ones, on two processors.
pub fn measured() -> String {
    let rows = rows::all();
    let both = |row| [compare::<Joint>(row), compare::<Tokio>(row)];
    let lines: Vec<_> = rows.iter().flat_map(both).collect();
    let hits = lines.iter().filter(|line| line.1).count();
    let table: String = lines.iter().map(|line| &*line.0).collect();
    format!(
        "| row | scheduler | measured, ns | simulated, ns | off |\n|---|---|---|---|---|\n{table}\n\
         {hits} of {} are within 25 %.\n",
        lines.len()
    )
}

/// The median, and by how much the seeds differ.
pub fn shown(figure: Figure) -> String {
    let Figure {
        median,
        least,
        most,
        ..
    } = figure;
    match median {
        ..10_000.0 => format!("{median:.0} ({least:.0} to {most:.0})"),
        _ => format!(
            "{:.0}k ({:.0}k to {:.0}k)",
            median / 1e3,
            least / 1e3,
            most / 1e3
        ),
    }
}

/// Puts a text between the marks of that name.
pub fn put(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (
        format!("<!-- begin {name} -->\n"),
        format!("<!-- end {name} -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("the mark is there");
    let (_, after) = rest.split_once(&end).expect("the mark is there");
    format!("{before}{begin}{text}{end}{after}")
}
