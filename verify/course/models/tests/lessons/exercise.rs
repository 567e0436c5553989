//! What an exercise demands of a repair, and how it says what is wrong with one.
//!
//! `cargo run -p course -- lesson N` runs the test `exercise_N` with the name of a file in
//! `JOINT_LESSON`. The report goes there: its first line is `solved`, `unsolved` or `wrong`.
//! Without the variable, the test passes while the exercise is as it was given.

use std::{env, ffi::OsString, fs, path::Path};

use lessons::{Counterexample, failure_of};

/// The variable with the report's file.
const ASKED: &str = "JOINT_LESSON";

/// What is wrong with a form of an exercise.
#[derive(Debug)]
pub(crate) struct Wrong {
    says: String,
    /// Whether the lesson's own model fails as the lesson says.
    as_given: bool,
}

pub(crate) type Verdict = Result<(), Wrong>;

/// The lesson's own model. While the exercise is as it was given, the model fails, and `as_given`
/// recognizes that failure.
pub(crate) fn the_model(
    says: &str,
    as_given: fn(&Counterexample) -> bool,
    model: impl Fn() + Send + Sync + 'static,
) -> Verdict {
    failure_of(None, model).map_or(Ok(()), |failure| {
        wrong(says.to_owned(), as_given(&failure), Some(&failure))
    })
}

/// A further demand: a model that a right repair passes.
pub(crate) fn demand(says: &str, model: impl Fn() + Send + Sync + 'static) -> Verdict {
    the_model(says, |_| false, model)
}

/// A further demand, on something that is known already.
pub(crate) fn require(holds: bool, says: impl FnOnce() -> String) -> Verdict {
    match holds {
        true => Ok(()),
        false => wrong(says(), false, None),
    }
}

/// The operations of one thread in the first execution of a model, such as `load(Acquire)`, without
/// the values that they return. Only atomics that were made on another thread count.
pub(crate) fn operations(
    thread: &str,
    f: impl Fn() + Send + Sync + 'static,
) -> Result<Vec<String>, Wrong> {
    const END: &str = "the execution is recorded";
    let ended = failure_of(None, move || {
        f();
        panic!("{END}");
    });
    let failure = ended.expect("the model panics at its end");
    if failure.message() != END {
        let says = "the code fails even if nothing runs at the same time";
        wrong(says.to_owned(), false, Some(&failure))?;
    }
    Ok(lane(&failure.text(), thread))
}

/// Does the same for a thread that waits forever, because nothing that it waits for comes.
pub(crate) fn operations_in_vain(
    thread: &str,
    f: impl Fn() + Send + Sync + 'static,
) -> Vec<String> {
    let failure = failure_of(None, f).expect("it waits forever");
    lane(&failure.text(), thread)
}

/// The atomic operations and fences in one lane of an execution.
fn lane(text: &str, thread: &str) -> Vec<String> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let (before, _) = head.split_once(thread).expect("the thread has a lane");
    let column = before.chars().count();
    let rows = lines.filter_map(|line| {
        let before: String = line.chars().take(column).collect();
        let is_row = before.trim_end().ends_with(|c: char| c.is_ascii_digit());
        let cell: String = line.chars().skip(column).collect();
        (is_row && !cell.starts_with(' ')).then_some(cell)
    });
    let operation = |cell: String| {
        let cell = cell.split("  ").next()?.split(" = ").next()?;
        let name = cell.rsplit_once('.').map_or(cell, |(_, name)| name);
        name.ends_with(')').then(|| name.to_owned())
    };
    rows.filter_map(operation).collect()
}

/// Demands that none of these operations writes.
pub(crate) fn only_reads(operations: &[String]) -> Verdict {
    let reads =
        |operation: &String| operation.starts_with("load") || operation.starts_with("fence");
    let write = operations.iter().find(|operation| !reads(operation));
    require(write.is_none(), || {
        format!(
            "it must only read, and write nothing, but it makes {}",
            write.expect("a write")
        )
    })
}

/// Demands that none of these operations has one of these orderings.
pub(crate) fn none_is(orderings: &[&str], operations: &[String], says: &str) -> Verdict {
    let is = |operation: &&String| {
        orderings
            .iter()
            .any(|ordering| operation.contains(ordering))
    };
    let found = operations.iter().find(is);
    require(found.is_none(), || {
        format!("{says}: {}", found.expect("one was found"))
    })
}

/// The test of an exercise.
pub(crate) fn exercise(number: u32, judge: impl FnOnce() -> Verdict) {
    let verdict = judge();
    if let Some(file) = asked() {
        if verdict.is_ok() {
            fs::write(file, "solved\n").expect("the report can be written");
        }
        return;
    }
    assert!(
        matches!(&verdict, Err(wrong) if wrong.as_given),
        "exercise {number} is not as it was given. \
         Run `cargo run -p course -- lesson {number}`, which says whether it is solved."
    );
}

/// Demands that a wrong repair is refused, with these words.
#[track_caller]
pub(crate) fn refused(verdict: Verdict, words: &str) {
    let wrong = verdict.expect_err("a wrong repair satisfies the exercise");
    assert!(wrong.says.contains(words), "{}", wrong.says);
}

fn asked() -> Option<OsString> {
    env::var_os(ASKED)
}

/// Returns what is wrong. Writes the report, and the failing execution as a picture beside it.
fn wrong(says: String, as_given: bool, failure: Option<&Counterexample>) -> Verdict {
    if let Some(file) = asked() {
        let state = if as_given { "unsolved" } else { "wrong" };
        let mut text = format!("{state}\n{says}\n");
        // One that has no steps explains nothing: the code is wrong on one thread already.
        let failure = failure.filter(|failure| failure.text().contains("\n  "));
        if let Some(failure) = failure {
            let picture = Path::new(&file).with_extension("svg");
            fs::write(picture, failure.svg("exercise")).expect("the picture can be written");
            text += &format!("\n{}\n", failure.text().trim_end());
        }
        fs::write(file, text).expect("the report can be written");
    }
    Err(Wrong { says, as_given })
}
