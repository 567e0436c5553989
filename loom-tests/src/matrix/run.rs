//! [`Matrix`]: all cells, each model in a process of its own.

use std::{
    io,
    process::{Command, Stdio},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::{ORDERINGS, Published, html, json, name, table};
use crate::lab::Counterexample;

/// Printed by a process whose model failed. The process then unwinds, which can abort it.
const FAILED: &str = "failed";
/// Printed by a process whose model passed.
const PASSED: &str = "passed";
/// Separates the parts of the answer.
const APART: char = '\u{1e}';

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
    pub failures: Vec<Failure>,
    /// How long the models took, including their processes.
    pub took: Duration,
}

/// A model that failed.
#[derive(Debug)]
pub struct Failure {
    /// The data that was not published.
    pub published: Published,
    /// The operations that lack a half, each with that half.
    pub missing: Vec<(String, String)>,
    /// Says which half of which operation is missing.
    pub sentence: String,
    /// The execution as text.
    pub text: String,
    /// The execution as a picture.
    pub svg: String,
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

    /// Returns the matrix as JSON.
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// Returns the matrix as one page.
    pub fn html(&self) -> String {
        html::render(self)
    }

    /// Returns the cells in which no model fails.
    pub fn right(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.is_right())
    }
}

impl Cell {
    fn run(completer: Ordering, waiter: Ordering) -> io::Result<Self> {
        let start = Instant::now();
        let mut failures = Vec::new();
        for published in Published::ALL {
            failures.extend(decide_apart(published, completer, waiter)?);
        }
        Ok(Self {
            completer,
            waiter,
            failures,
            took: start.elapsed(),
        })
    }

    /// Returns whether no model fails.
    pub fn is_right(&self) -> bool {
        self.failures.is_empty()
    }

    /// Says in a word or two what fails.
    pub fn verdict(&self) -> String {
        let broken: Vec<_> = self
            .failures
            .iter()
            .map(|failure| failure.published.name())
            .collect();
        if broken.is_empty() {
            "right".to_owned()
        } else {
            broken.join(", ")
        }
    }

    /// Returns a name that no other cell has, which can be part of an address.
    pub fn id(&self) -> String {
        format!("{}-{}", name(self.completer), name(self.waiter))
    }
}

/// The words that tell a process which model to run.
fn words(published: Published, completer: Ordering, waiter: Ordering) -> [&'static str; 4] {
    ["cell", published.name(), name(completer), name(waiter)]
}

fn decide_apart(
    published: Published,
    completer: Ordering,
    waiter: Ordering,
) -> io::Result<Option<Failure>> {
    let words = words(published, completer, waiter);
    let output = Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut parts = said.split(APART).map(str::to_owned);
    match parts.next().as_deref() {
        Some(PASSED) => Ok(None),
        Some(FAILED) => {
            let mut part = || parts.next().unwrap_or_default();
            Ok(Some(Failure {
                published,
                missing: missing(&part()),
                sentence: part(),
                text: part(),
                svg: part(),
            }))
        }
        _ => Err(io::Error::other(format!(
            "`{}` ended with {} and without an answer: {}",
            words.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

/// The answer of the process of one model.
pub(super) fn answer(failure: Option<(&Counterexample, &str)>) -> String {
    let Some((failure, id)) = failure else {
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
        failure.svg(id),
    ];
    parts.join(&APART.to_string())
}

fn missing(lines: &str) -> Vec<(String, String)> {
    let halves = lines.lines().filter_map(|line| line.split_once(' '));
    let halves = halves.map(|(site, half)| (site.to_owned(), half.to_owned()));
    halves.collect()
}
