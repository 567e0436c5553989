//! The completion's two exchanges with every pair of orderings, each decided by the model checker.
//!
//! A cell of the matrix is two models of the real source: one looks only at the result, the other
//! only at the waker. A cell therefore says which of the two is not published, and has a
//! counterexample for each.

mod models;
mod run;
mod table;

use std::{io::Write as _, sync::atomic::Ordering};

pub use models::decide;
pub use run::{Cell, Matrix};

/// The orderings of a read-modify-write, from the weakest to the strongest.
pub const ORDERINGS: [Ordering; 5] = [
    Ordering::Relaxed,
    Ordering::Acquire,
    Ordering::Release,
    Ordering::AcqRel,
    Ordering::SeqCst,
];

/// The completer's exchange.
pub const COMPLETER: &str = "completion::complete";
/// The waiter's exchange.
pub const WAITER: &str = "completion::register";

/// The data that must reach the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The completer's writes before its exchange must reach the waiter that learns of the end.
    Result,
    /// The waker that the waiter made before its exchange must reach the completer that takes it.
    Waker,
}

impl Published {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Result, Self::Waker];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Waker => "waker",
        }
    }

    /// Returns the variant with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|published| published.name() == name)
    }
}

/// Returns the name of an ordering, as C++ and the hardware manuals write it.
pub fn name(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => "relaxed",
        Ordering::Acquire => "acquire",
        Ordering::Release => "release",
        Ordering::AcqRel => "acq_rel",
        _ => "seq_cst",
    }
}

/// Returns the ordering with this name.
pub fn of_name(text: &str) -> Option<Ordering> {
    ORDERINGS
        .into_iter()
        .find(|&ordering| name(ordering) == text)
}

/// Runs one model of one cell, and prints the answer that [`Matrix::run`] reads, or the picture of
/// its failure if `svg` follows. Returns false if the words do not name a model.
///
/// # Panics
/// If standard output is closed.
pub fn answer(words: &[String]) -> bool {
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
    let (Some(published), Some(completer), Some(waiter)) = named else {
        return false;
    };
    let id = format!("{}-{}-{}", name(completer), name(waiter), published.name());
    let tell = move |failure: &crate::lab::Counterexample| match picture {
        true => say(&failure.svg(&id)),
        false => say(&run::answer(Some(failure))),
    };
    if decide(published, completer, waiter, tell).is_ok() {
        say(&run::answer(None));
    }
    true
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .expect("the parent process reads the output");
    out.flush().expect("the parent process reads the output");
}
