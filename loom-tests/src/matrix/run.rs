//! [`Matrix`]: all cells, each model in a process of its own.

use std::{
    io,
    process::{Command, Stdio},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::{ORDERINGS, Published, name, table};
use crate::lab::Counterexample;

/// Printed by a process whose model failed. The process then unwinds, which can abort it.
const FAILED: &str = "failed";
/// Printed by a process whose model passed.
const PASSED: &str = "passed";
/// Separates the parts of the answer.
const APART: &str = "\n---\n";

/// All pairs of orderings, row by row: a row for each ordering of the completer, with a cell for
/// each ordering of the waiter.
#[derive(Debug)]
pub struct Matrix {
    /// The 25 cells.
    pub cells: Vec<Cell>,
}

/// One pair of orderings.
#[derive(Debug)]
pub struct Cell {
    /// The ordering of the completer's exchange.
    pub completer: Ordering,
    /// The ordering of the waiter's exchange.
    pub waiter: Ordering,
    /// The data that is not published. If this is empty, the pair is right.
    pub broken: Vec<Published>,
    /// How long the models took, including their processes.
    pub took: Duration,
}

impl Matrix {
    /// Decides all cells. Starts this program again for each model, with the words of `words`,
    /// which `answer` answers.
    ///
    /// # Errors
    /// If a process cannot be run, or gives no answer.
    pub fn run() -> io::Result<Self> {
        let pairs = ORDERINGS.iter().flat_map(|&a| ORDERINGS.map(|b| (a, b)));
        let cells: io::Result<_> = pairs.map(|(a, b)| Cell::run(a, b)).collect();
        Ok(Self { cells: cells? })
    }

    /// Returns the matrix as text.
    pub fn text(&self) -> String {
        table::render(self)
    }

    /// Returns the cells in which no model fails.
    pub fn right(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.is_right())
    }
}

impl Cell {
    fn run(completer: Ordering, waiter: Ordering) -> io::Result<Self> {
        let start = Instant::now();
        let mut broken = Vec::new();
        for published in Published::ALL {
            if !passes(published, completer, waiter)? {
                broken.push(published);
            }
        }
        Ok(Self {
            completer,
            waiter,
            broken,
            took: start.elapsed(),
        })
    }

    /// Returns whether no model fails.
    pub fn is_right(&self) -> bool {
        self.broken.is_empty()
    }

    /// Says in a word or two what fails.
    pub fn verdict(&self) -> String {
        let broken = self.broken.iter().map(|published| published.name());
        match broken.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "right".to_owned(),
            broken => broken,
        }
    }
}

/// The words that tell a process which model to run.
fn words(published: Published, completer: Ordering, waiter: Ordering) -> [&'static str; 4] {
    ["cell", published.name(), name(completer), name(waiter)]
}

fn passes(published: Published, completer: Ordering, waiter: Ordering) -> io::Result<bool> {
    let words = words(published, completer, waiter);
    let output = Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.split(APART).next() {
        Some(PASSED) => Ok(true),
        Some(FAILED) => Ok(false),
        _ => Err(io::Error::other(format!(
            "`{}` ended with {} and without an answer: {}",
            words.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

/// The answer of the process of one model.
pub(super) fn answer(failure: Option<&Counterexample>) -> String {
    let Some(failure) = failure else {
        return PASSED.to_owned();
    };
    let halves = failure.missing();
    let halves: Vec<_> = (halves.iter())
        .map(|(site, half)| format!("{site} {half}"))
        .collect();
    let parts = [
        FAILED.to_owned(),
        halves.join("\n"),
        failure.sentence(),
        failure.text(),
    ];
    parts.join(APART)
}
