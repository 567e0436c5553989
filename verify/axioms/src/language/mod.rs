//! The small language in which a reader of the page types a program.
//!
//! ```text
//! plain data            // not atomic, 0 at first; `plain data = 7` is 7 at first
//! atomic flag
//!
//! thread writer {
//!     data = 42
//!     flag.store(1, Release)
//! }
//! thread reader {
//!     seen = flag.load(Acquire)
//!     if seen == 1 {
//!         got = data
//!     }
//! }
//! never seen == 1 && got == 0
//! ```
//!
//! Further operations are `old = x.swap(1, AcqRel)`, `old = x.fetch_add(1, Relaxed)`,
//! `old = x.fetch_sub(1, Release)`, `old = x.compare_exchange(0, 1, AcqRel, Acquire)`, where `old`
//! is 0 only if it has succeeded, and `fence(SeqCst)`. An `if` may have an `else`. A line that
//! starts with `never` names values that are wrong together at the end. The name of a location
//! there means its last value.
//!
//! | module | does |
//! |---|---|
//! | `tokens` | splits a text into words with the numbers of their lines |
//! | `parse` | reads locations, threads and `never` |
//! | `statement` | reads what a thread does |

mod parse;
mod statement;
mod tokens;

use core::fmt;

use crate::{Execution, Location, Program, Register, Value};

/// The largest number of threads.
pub const MOST_THREADS: usize = 4;
/// The largest number of operations in all threads together, fences included. A report is also
/// limited by the number of executions. Most programs with this many operations have too many.
pub const MOST_OPERATIONS: usize = 32;
/// The largest number of locations.
pub const MOST_LOCATIONS: usize = 6;

/// A program that somebody has typed.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The program.
    pub program: Program,
    /// The registers with their names, in the order of the text.
    pub registers: Vec<(String, Register)>,
    /// What must not be at the end.
    pub never: Vec<Never>,
    /// For each thread, the line of each of its steps.
    pub lines: Vec<Vec<usize>>,
}

/// Values that must not be found together at the end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Never {
    /// Its line.
    pub line: usize,
    /// The line's words.
    pub text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Term {
    what: What,
    equals: bool,
    value: Value,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum What {
    Register(Register),
    Location(Location),
}

impl Typed {
    /// Returns the register of this name.
    pub fn register(&self, name: &str) -> Option<Register> {
        let mut all = self.registers.iter();
        Some(all.find(|(own, _)| own == name)?.1)
    }
}

impl Never {
    /// Returns whether an execution ends with these values. A register whose branch was not taken
    /// has no value.
    pub fn is_broken_by(&self, execution: &Execution) -> bool {
        self.terms.iter().all(|term| {
            let found = match term.what {
                What::Register(register) => execution.value(register),
                What::Location(location) => Some(execution.last(location)),
            };
            found.is_some_and(|found| (found == term.value) == term.equals)
        })
    }
}

/// Why a text is no program, and what to write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mistake {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong there, and what to write.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl core::error::Error for Mistake {}

/// Reads a program.
///
/// # Errors
/// The first mistake in the text.
///
/// ```
/// let typed = axioms::language::parse("atomic x\nthread {\n  x.store(1, Relaxed)\n}\n")?;
/// assert_eq!(typed.program.steps().len(), 1);
///
/// let mistake = axioms::language::parse("atomic x\nthread {\n  x.store(1)\n}\n").unwrap_err();
/// assert_eq!(mistake.line, 3);
/// assert!(mistake.message.contains("write `x.store(1, Release)`"));
/// # Ok::<(), axioms::language::Mistake>(())
/// ```
pub fn parse(text: &str) -> Result<Typed, Mistake> {
    parse::Parser::new(text, true)?.program()
}

/// Reads a program of any size. It may take long to explore.
///
/// # Errors
/// The first mistake in the text.
pub fn parse_large(text: &str) -> Result<Typed, Mistake> {
    parse::Parser::new(text, false)?.program()
}
