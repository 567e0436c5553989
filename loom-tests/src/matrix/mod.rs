//! The completion's two exchanges with every pair of orderings, each decided by the model checker.
//!
//! A cell of the matrix is two models of the real source: one looks only at the result, the other
//! only at the waker. A cell therefore says which of the two is not published, and has a
//! counterexample for each. Each model runs in a process of its own, because one that fails can
//! abort it.

mod models;

use std::{
    env, io,
    io::Write as _,
    process::{self, Command, Stdio},
    sync::atomic::Ordering,
    time::Instant,
};

pub use models::Published;
use models::decide;

use crate::lab::Counterexample;

/// The orderings of a read-modify-write, from the weakest to the strongest, as C++ and the hardware
/// manuals write them.
pub const ORDERINGS: [(&str, Ordering); 5] = [
    ("relaxed", Ordering::Relaxed),
    ("acquire", Ordering::Acquire),
    ("release", Ordering::Release),
    ("acq_rel", Ordering::AcqRel),
    ("seq_cst", Ordering::SeqCst),
];

/// The completer's exchange.
pub const COMPLETER: &str = "completion::complete";
/// The waiter's exchange.
pub const WAITER: &str = "completion::register";

/// Separates the parts of what a process says of its model.
const APART: &str = "\n---\n";

fn of_name(text: &str) -> Option<Ordering> {
    let named = ORDERINGS.iter().find(|(name, _)| *name == text);
    named.map(|&(_, ordering)| ordering)
}

/// Runs one model of one cell. Prints `passed`, or `failed` with the halves that are missing, the
/// sentence and the text, or only the picture of the failure if `svg` follows. Returns false if the
/// words do not name a model.
///
/// # Panics
/// If standard output is closed.
pub fn cell(words: &[String]) -> bool {
    let (words, picture) = match words {
        [words @ .., last] if last == "svg" => (words, true),
        words => (words, false),
    };
    let [published, completer, waiter] = words else {
        return false;
    };
    let named = (
        Published::of_name(published),
        of_name(completer),
        of_name(waiter),
    );
    let (Some(named), Some(to), Some(from)) = named else {
        return false;
    };
    let id = format!("{completer}-{waiter}-{published}");
    let tell = move |failure: &Counterexample| match picture {
        true => say(&failure.svg(&id)),
        false => say(&said_of(failure)),
    };
    if decide(named, to, from, tell).is_ok() {
        say("passed");
    }
    true
}

fn said_of(failure: &Counterexample) -> String {
    let halves = failure.missing();
    let halves = halves.iter().map(|(site, half)| format!("{site} {half}"));
    let halves = halves.collect::<Vec<_>>().join("\n");
    ["failed", &halves, &failure.sentence(), &failure.text()].join(APART)
}

fn say(text: &str) {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .expect("the parent process reads the output");
    out.flush().expect("the parent process reads the output");
}

/// Decides all cells, and returns the matrix as text: a row for each ordering of the completer,
/// with a cell for each ordering of the waiter. Runs this program again for each model, with words
/// that [`cell`] takes.
///
/// # Errors
/// If a process cannot be run, or gives no answer.
pub fn matrix() -> io::Result<String> {
    let (started, mut right) = (Instant::now(), 0);
    let line = |head: &str, cells: [String; 5]| {
        let cells = cells.map(|cell| format!("{cell:<14}")).concat();
        format!("{head:<9}{cells}").trim_end().to_owned()
    };
    let names = ORDERINGS.map(|(name, _)| name);
    let mut lines = vec![
        format!("rows: the completer's exchange, {COMPLETER}"),
        format!("columns: the waiter's exchange, {WAITER}\n"),
        line("", names.map(str::to_owned)),
    ];
    for completer in names {
        let mut verdicts = [const { String::new() }; 5];
        for (verdict, waiter) in verdicts.iter_mut().zip(names) {
            *verdict = decided(completer, waiter)?;
            right += usize::from(verdict == "right");
        }
        lines.push(line(completer, verdicts));
    }
    let each = started.elapsed().as_millis() / 25;
    lines.push(format!("\n{right} of 25 right, {each} ms for each."));
    lines.push(
        "result: what the completer wrote does not reach the waiter. waker: what the waiter made \
         does not reach the completer.\n"
            .to_owned(),
    );
    Ok(lines.join("\n"))
}

/// What is not published with these orderings, or `right`.
fn decided(completer: &str, waiter: &str) -> io::Result<String> {
    let mut broken = Vec::new();
    for published in Published::ALL.map(Published::name) {
        let mut model = Command::new(env::current_exe()?);
        model.args(["cell", published, completer, waiter]);
        let process::Output { stdout, stderr, .. } = model.stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&stdout);
        match said.split(APART).next() {
            Some("passed") => {}
            Some("failed") => broken.push(published),
            _ => return Err(io::Error::other(String::from_utf8_lossy(&stderr))),
        }
    }
    Ok(match broken.is_empty() {
        true => "right".to_owned(),
        false => broken.join(", "),
    })
}
