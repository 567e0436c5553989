//! The twelve rows by numbers of cores, each in a process of its own.

use std::{
    env,
    fmt::Write as _,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use joint_figures::{Curve, Panel};

use crate::{
    CORES, FEW_SEEDS, Figure, costs_for, figure, machines,
    page::shown,
    peers::{Joint, Peer, Tokio},
    rows::{self, CURVES, Of, Row},
    work_of,
};

/// Above the picture.
const SENTENCE: &str = "By cores, 1 is the best: the speed-up by the number of cores where the work is \
                        divided, else the time on one core by the time on all.";

/// The tables and the picture.
pub struct Curves {
    /// The figures.
    pub rows: String,
    /// What joint does by operation.
    pub operations: String,
    /// The picture.
    pub picture: String,
}

fn figures<P: Of>(row: &Row) -> [Figure; CORES.len()] {
    let costs = costs_for::<P>(machines::SERVER, work_of::<P>(row));
    CORES.map(|cores| figure::<P>(FEW_SEEDS, (cores, cores, cores), costs, P::of(row)))
}

/// The lines of a row in both tables, and the points of its curves, for the process that asks.
pub fn of_row(row: &Row) -> String {
    let (joint, tokio) = (figures::<Joint>(row), figures::<Tokio>(row));
    let mut out = String::new();
    for (name, figures) in [(Joint::NAME, joint), (Tokio::NAME, tokio)] {
        let cells = figures.map(shown).join(" | ");
        _ = writeln!(out, "| {} | {name} | {cells} |", row.title);
    }
    for n in [1, 3, 6] {
        let counts = joint[n].counts;
        let by = |count: u64| count as f64 / (row.operations)(CORES[n]) as f64;
        _ = writeln!(
            out,
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
    for figures in [joint, tokio] {
        for n in 0..CORES.len() {
            let share = if row.is_divided { CORES[n] as f64 } else { 1.0 };
            _ = write!(out, "{:.4} ", figures[0].median / figures[n].median / share);
        }
        out.push('\n');
    }
    out
}

fn panel(title: &str, points: &[&str]) -> Panel {
    let curve = |(name, line): (&str, &&str)| {
        let values = line
            .split_whitespace()
            .map(|value| value.parse().expect("a number"));
        let points = CORES.into_iter().zip(values).collect();
        let name = name.to_owned();
        Curve { name, points }
    };
    Panel {
        title: title.to_owned(),
        curves: [Joint::NAME, Tokio::NAME]
            .into_iter()
            .zip(points)
            .map(curve)
            .collect(),
    }
}

/// Runs all rows, as many at a time as there are processors.
pub fn all() -> Curves {
    let program = env::current_exe().expect("this program has a path");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut own = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= CURVES {
                return own;
            }
            let output = Command::new(&program)
                .args(["row", &number.to_string()])
                .output();
            let output = output.expect("the program runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            own.push((number, String::from_utf8_lossy(&output.stdout).into_owned()));
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut printed: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let printed = workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no panics"));
        printed.collect()
    });
    printed.sort();
    let numbers = CORES.map(|cores| cores.to_string()).join(" | ");
    let mut rows = format!(
        "| row | scheduler | {numbers} |\n|---|---|{}\n",
        "---|".repeat(CORES.len())
    );
    let mut operations = "| row, by operation | cores | lines that move | read-modify-writes | fences | wake-ups of threads | allocations |\n\
                          |---|---|---|---|---|---|---|\n".to_owned();
    let titles = rows::all();
    let mut panels = Vec::new();
    for (number, text) in printed {
        let lines: Vec<_> = text.lines().collect();
        lines[..2]
            .iter()
            .for_each(|line| rows += &format!("{line}\n"));
        lines[2..5]
            .iter()
            .for_each(|line| operations += &format!("{line}\n"));
        panels.push(panel(titles[number].title, &lines[5..7]));
    }
    let picture = joint_figures::curves(SENTENCE, &panels);
    Curves {
        rows,
        operations,
        picture,
    }
}
