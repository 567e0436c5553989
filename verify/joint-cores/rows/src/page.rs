//! The tables of the page.

use std::{fmt::Write as _, fs};

use joint_figures::{Curve, Panel};

use crate::{
    CORES, Figure, Works, costs_for, figure, machines, measured,
    peers::{Joint, Tokio},
    published,
    rows::{self, CURVES, Of, Row},
};

/// Within so much of the measured time.
const BAR: f64 = 0.25;

/// Above the picture.
const SENTENCE: &str = "By cores, 1 is the best: the speed-up by the number of cores where the work is \
                        divided, else the time on one core by the time on all.";

/// What the work between two accesses is, row by row.
pub fn calibration(works: &Works) -> String {
    let mut out = "| row | joint, measured on one processor, ns | work between two accesses, ns | tokio, measured | work |\n\
                   |---|---|---|---|---|\n".to_owned();
    for row in rows::all().iter().filter(|row| row.has_work()) {
        let measured = measured::find(row.title);
        let (joint, tokio) = (works.of::<Joint>(row), works.of::<Tokio>(row));
        _ = writeln!(
            out,
            "| {} | {:.0} | {joint:.1} | {:.0} | {tokio:.1} |",
            row.title, measured.joint[0], measured.tokio[0]
        );
    }
    out
}

fn figure_of<P: Of>(row: &Row, works: &Works, cores: usize, machine: loom::Costs) -> Figure {
    let costs = costs_for::<P>(machine, works.of::<P>(row));
    figure::<P>((cores, cores, cores), costs, P::of(row))
}

/// The measured rows beside the simulated ones, on two processors. Also whether all are hit.
pub fn measured(works: &Works) -> (String, bool) {
    let mut out =
        "| row | scheduler | measured, ns | simulated, ns | off |\n|---|---|---|---|---|\n"
            .to_owned();
    let (mut hits, mut of) = (0, 0);
    for row in rows::all() {
        let measured = measured::find(row.title);
        let joint = figure_of::<Joint>(&row, works, 2, machines::HERE);
        let tokio = figure_of::<Tokio>(&row, works, 2, machines::HERE);
        for (name, measured, simulated) in [
            ("joint", measured.joint[1], joint),
            ("tokio", measured.tokio[1], tokio),
        ] {
            let off = simulated.median / measured - 1.0;
            hits += usize::from(off.abs() <= BAR);
            of += 1;
            _ = writeln!(
                out,
                "| {} | {name} | {measured:.0} | {} | {:+.0} % |",
                row.title,
                shown(simulated),
                100.0 * off
            );
        }
    }
    eprintln!("{hits} of {of} rows are within 25 %");
    (out, hits == of)
}

/// The median, and by how much the seeds differ.
fn shown(figure: Figure) -> String {
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

/// The twelve rows by numbers of cores, what joint does by operation, and the curves.
pub fn rows(works: &Works, filter: Option<&String>) -> (String, String, String) {
    let numbers = CORES.map(|cores| cores.to_string()).join(" | ");
    let mut out = format!(
        "| row | scheduler | {numbers} |\n|---|---|{}\n",
        "---|".repeat(CORES.len())
    );
    let mut paths = "| row, by operation | cores | lines that move | read-modify-writes | fences | wake-ups of threads | allocations |\n\
                     |---|---|---|---|---|---|---|\n".to_owned();
    let mut panels = Vec::new();
    let is_wanted = |row: &Row| filter.is_none_or(|filter| row.title.contains(filter.as_str()));
    for row in rows::all().iter().take(CURVES).filter(|row| is_wanted(row)) {
        let joint = CORES.map(|cores| figure_of::<Joint>(row, works, cores, machines::SERVER));
        let tokio = CORES.map(|cores| figure_of::<Tokio>(row, works, cores, machines::SERVER));
        let mut curves = Vec::new();
        for (name, figures) in [("joint", joint), ("tokio", tokio)] {
            _ = writeln!(
                out,
                "| {} | {name} | {} |",
                row.title,
                figures.map(shown).join(" | ")
            );
            let share = |n: usize| if row.is_divided { CORES[n] as f64 } else { 1.0 };
            let efficiency = |n: usize| figures[0].median / figures[n].median / share(n);
            let points = (0..CORES.len())
                .map(|n| (CORES[n], efficiency(n)))
                .collect();
            curves.push(Curve {
                name: name.to_owned(),
                points,
            });
        }
        panels.push(Panel {
            title: row.title.to_owned(),
            curves,
        });
        for (n, figure) in [(1, joint[1]), (3, joint[3]), (6, joint[6])] {
            let by = |count: u64| count as f64 / (row.operations)(CORES[n]) as f64;
            let counts = figure.counts;
            _ = writeln!(
                paths,
                "| {} | {} | {:.2} | {:.2} | {:.2} | {:.3} | {:.2} |",
                row.title,
                CORES[n],
                by(counts.moves),
                by(counts.exchanges),
                by(counts.fences),
                by(counts.wakes),
                by(counts.allocations)
            );
        }
    }
    (out, paths, joint_figures::curves(SENTENCE, &panels))
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

/// The page with its tables, and the picture.
pub fn write(page: &str, works: &Works) -> (String, String) {
    let page = put(page, "calibration", &calibration(works));
    let page = put(&page, "measured", &measured(works).0);
    // The sharded points need another tokio, whose run comes first.
    let sharded = fs::read_to_string("sharded.txt");
    let mut points = published::table(works, false);
    points += &sharded.unwrap_or_default();
    let page = put(&page, "published", &points);
    let (rows, paths, picture) = rows(works, None);
    (put(&put(&page, "rows", &rows), "paths", &paths), picture)
}
