//! The semantics of the pieces, and the tests and models that pin them down.

use std::fmt::Write;

use crate::tables::notes::Noted;

/// The evidence that a semantics holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Test,
    /// Two threads that act at once.
    Model,
    /// A page says so, and no test can.
    Design(&'static str),
}

use By::{Design, Model, Test};

type Row = (&'static str, By);

/// The pieces, each with what has to be pinned down.
const PIECES: [(&str, &str, &[Row]); 14] = [
    (
        "promise",
        "`promise`, `spawn`",
        &[
            ("one producer, many waiters", Test),
            ("set once", Test),
            ("a dropped producer gives broken promise", Test),
            ("the last future dropped cancels the producer", Test),
            ("`shared::from_future` lets it run on", Test),
            ("already completed is a no-op", Test),
            ("`never()`", Test),
            ("the last waiter's leaving against completion", Model),
        ],
    ),
    (
        "cancellation",
        "`task`",
        &[
            (
                "dropping a handle drops the future at once if it is idle",
                Test,
            ),
            (
                "dropping a handle drops the future at once if it is idle, else at its next suspension",
                Test,
            ),
            ("its own awaits go first to last", Test),
            ("destructors run", Test),
            (
                "a destructor that cancels again destroys nothing twice",
                Test,
            ),
            (
                "`uncancellable(fut)` runs to its end although every handle is gone, and is seen at the call site",
                Test,
            ),
            ("cancel against win", Model),
        ],
    ),
    (
        "race",
        "`race`",
        &[
            ("2 to 8, and a slice", Test),
            ("the leftmost ready one wins", Test),
            ("an error that is ready wins like a value", Test),
            ("losers are dropped before the caller goes on", Test),
            ("two completions against a race", Model),
            ("cancel against win", Model),
        ],
    ),
    (
        "choice",
        "`choice`",
        &[
            (
                "a later branch's closure does not run if an earlier one is ready",
                Test,
            ),
            (
                "a macro only if functions cannot do it",
                Design("`choose` and `try_choose` are functions"),
            ),
        ],
    ),
    (
        "all",
        "`all`, `try_all`, `all_ready`",
        &[
            ("values in input order", Test),
            (
                "fail-fast with the first error in order of completion",
                Test,
            ),
            ("the variant that waits for all whatever happens", Test),
        ],
    ),
    (
        "quorum",
        "`quorum`",
        &[
            ("the n-th success", Test),
            (
                "failure as soon as n successes have become impossible",
                Test,
            ),
            ("a strict variant that fails on the first error", Test),
            ("n = 0 is ready", Test),
            ("losers kept or dropped by choice", Test),
            ("the n-th success against the n-th failure", Model),
        ],
    ),
    (
        "any",
        "`any`",
        &[
            ("first success", Test),
            ("all failed gives all errors", Test),
        ],
    ),
    (
        "collection",
        "`Collection`",
        &[
            ("errors surface at once", Test),
            ("decided once, in the order in which the children end", Test),
            ("children cancelled in order of insertion on drop", Test),
            ("adds and completions from inside", Test),
            ("a mode that returns when it has become empty", Test),
        ],
    ),
    (
        "stream",
        "`stream`",
        &[
            ("unbounded", Test),
            ("items drain before the error", Test),
            ("one consumer", Test),
            ("dropped producer = broken promise", Test),
            ("the end distinct from an error", Test),
        ],
    ),
    (
        "lock",
        "`lock`",
        &[
            ("FIFO permits", Test),
            ("several at once", Test),
            ("given back on drop", Test),
            (
                "given back on drop, also when cancelled before or after the grant",
                Test,
            ),
            ("the releaser's stack never runs the taker", Test),
        ],
    ),
    (
        "variable",
        "`variable`",
        &[
            ("wakes on change only", Test),
            (
                "who waits again inside the notification gets the next change",
                Test,
            ),
            ("a change in place is one step", Test),
            (
                "waits for a condition, and gives the value for which it holds",
                Test,
            ),
        ],
    ),
    (
        "generator",
        "`generator`",
        &[
            ("lazy", Test),
            ("suspended until the value is taken", Test),
            ("may await between yields", Test),
            ("`filter`, `take`", Test),
            ("from a stream of promises", Test),
            ("ends cleanly", Test),
            ("errors come through", Test),
        ],
    ),
    (
        "retry",
        "`retry`",
        &[
            ("run, on error ask the policy, run again", Test),
            ("the policy may await", Test),
        ],
    ),
    (
        "time",
        "`time`",
        &[
            ("`timeout`: a tie goes to the operation", Test),
            ("`timeout`: the loser is dropped before completion", Test),
            ("delay(0) never completes inline", Test),
            ("yield", Test),
            ("now", Test),
            ("priorities", Test),
        ],
    ),
];

/// Pieces in which two threads meet only in other pieces, or in `joint`.
const BUILT_ON_OTHERS: [&str; 3] = ["generator", "retry", "time"];

/// A row of a table.
#[derive(Debug)]
struct Filled {
    semantics: String,
    by: Option<By>,
    tests: Vec<String>,
    models: Vec<String>,
}

/// All rows, by piece.
#[derive(Debug)]
pub(crate) struct Cells {
    rows: Vec<Vec<Filled>>,
    faults: Vec<String>,
}

impl Cells {
    pub(crate) fn new(tests: &[Noted], models: &[Noted]) -> Self {
        let empty = |&(semantics, by): &Row| Filled {
            semantics: semantics.into(),
            by: Some(by),
            tests: Vec::new(),
            models: Vec::new(),
        };
        let rows = PIECES
            .iter()
            .map(|(.., rows)| rows.iter().map(empty).collect());
        let mut cells = Self {
            rows: rows.collect(),
            faults: Vec::new(),
        };
        tests
            .iter()
            .for_each(|test| cells.fill(test, |row| &mut row.tests));
        models
            .iter()
            .for_each(|model| cells.fill(model, |row| &mut row.models));
        cells
    }

    fn fill(&mut self, noted: &Noted, list: fn(&mut Filled) -> &mut Vec<String>) {
        for (piece, semantics) in &noted.cells {
            let Some(at) = PIECES.iter().position(|(name, ..)| name == piece) else {
                self.faults
                    .push(format!("{}: no piece is called {piece}", noted.file));
                continue;
            };
            let row = row(&mut self.rows[at], semantics);
            list(row).push(noted.link());
        }
    }

    /// The missing cells.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        for ((piece, ..), rows) in PIECES.iter().zip(&self.rows) {
            let is_modelled = rows.iter().any(|row| !row.models.is_empty());
            if !is_modelled && !BUILT_ON_OTHERS.contains(piece) {
                faults.push(format!("{piece}: no model"));
            }
            faults.extend(rows.iter().filter_map(|row| {
                let what = match row.by {
                    Some(Test) if row.tests.is_empty() => "no test",
                    Some(Model) if row.models.is_empty() => "no model",
                    _ => return None,
                };
                Some(format!("{piece}: {}: {what}", row.semantics))
            }));
        }
        faults
    }

    pub(crate) fn tables(&self) -> String {
        let mut page = String::from(
            "\n## The pieces\n\nTests are in `joint-flow/tests`. They run under some hundred seeds with all faults, and those in `workers.rs` on\n\
             real workers. Models are in `loom-tests/tests`. They try the interleavings of what two or three threads do at\n\
             once, some of them with a bound on preemptions.\n",
        );
        for ((piece, names, _), rows) in PIECES.iter().zip(&self.rows) {
            write!(
                page,
                "\n### {piece}: {names}\n\n| semantics | tests | models |\n|---|---|---|\n"
            )
            .expect("a string can be written to");
            let (required, more): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.by.is_some());
            for row in required.into_iter().chain(more) {
                let tests = match row.by {
                    Some(Design(how)) => how.to_owned(),
                    _ => row.tests.join("<br>"),
                };
                let models = row.models.join("<br>");
                writeln!(page, "| {} | {tests} | {models} |", row.semantics)
                    .expect("a string can be written to");
            }
        }
        page
    }
}

/// Returns the row with the longest beginning of the semantics, or a new row.
fn row<'a>(rows: &'a mut Vec<Filled>, semantics: &str) -> &'a mut Filled {
    let begins = |row: &Filled| {
        let rest = semantics.strip_prefix(&*row.semantics)?;
        let is_whole = !rest.starts_with(char::is_alphanumeric);
        // A row that is not in the list takes only its own words.
        (is_whole && (row.by.is_some() || rest.is_empty())).then_some(row.semantics.len())
    };
    let longest = (0..rows.len())
        .filter_map(|at| Some((begins(&rows[at])?, at)))
        .max();
    let at = longest.map_or(rows.len(), |(_, at)| at);
    if at == rows.len() {
        rows.push(Filled {
            semantics: semantics.into(),
            by: None,
            tests: Vec::new(),
            models: Vec::new(),
        });
    }
    &mut rows[at]
}
