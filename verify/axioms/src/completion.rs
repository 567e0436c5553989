//! The mutex-free completion, with every pair of orderings for its two exchanges.
//!
//! The completer writes the result and swaps `DONE` into the word. The waiter writes its waker and
//! swaps in `W`. The side that is second gets back what the other side swapped in, and reads what
//! the other side wrote:
//!
//! | completer | waiter |
//! |---|---|
//! | `result = 1` | `waker = 1` |
//! | `r0 = swap(word, DONE, ordering)` | `r0 = swap(word, W, ordering)` |
//! | if `r0` is `W`: read `waker` | if `r0` is `DONE`: read `result` |
//!
//! `W` is the address of the waker, as it is in the crate: the completer reads the waker through
//! the pointer that its exchange returned. The result lies beside the word. To the language this
//! makes no difference, but [machines](crate::Machine) care.
//!
//! Result and waker are plain memory. If the reader is not ordered after the writer, that is a data
//! race.

use core::fmt;

use crate::{
    EventId, Execution, Location, Machine, MissingEdge, Model, Ordering, Program, Race, Register,
    Value, explore, language::parse,
};

/// The word at first.
pub const PENDING: Value = 0;
/// The value that the completer swaps in.
pub const DONE: Value = 1;
/// The value that the waiter swaps in: its waker.
pub const WAITING: Value = 2;
/// The value of the result and of the waker before they are written.
pub const EMPTY: Value = 0;
/// Their content after that.
pub const WRITTEN: Value = 1;

/// The number of the completer's thread.
pub const COMPLETER: usize = 0;
/// The number of the waiter's thread.
pub const WAITER: usize = 1;

/// A choice of orderings for the two exchanges.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Cell {
    /// The ordering of the completer's exchange.
    pub completer: Ordering,
    /// The ordering of the waiter's exchange.
    pub waiter: Ordering,
}

impl Cell {
    /// All 25, row by row: each ordering of the completer with every ordering of the waiter.
    pub fn all() -> impl Iterator<Item = Self> {
        let row = |completer| Ordering::ALL.map(|waiter| Self { completer, waiter });
        Ordering::ALL.into_iter().flat_map(row)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "completer {}, waiter {}", self.completer, self.waiter)
    }
}

/// A fault that can occur.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Broken {
    /// The waiter reads the result while the completer writes it.
    Result,
    /// The completer reads the waker while the waiter writes it.
    Waker,
}

impl Broken {
    const ALL: [Self; 2] = [Self::Result, Self::Waker];

    /// The name of what is not published.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Waker => "waker",
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} is not published", self.name())
    }
}

/// The program of one cell, with the names of its parts.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The program.
    pub program: Program,
    /// The location that the completer publishes.
    pub result: Location,
    /// The location that the waiter publishes.
    pub waker: Location,
    /// The location that both exchange.
    pub word: Location,
    /// For each thread, what its exchange returned, and what it then read.
    pub registers: [(Register, Register); 2],
}

impl Protocol {
    /// The program with the orderings of `cell`.
    pub fn new(cell: Cell) -> Self {
        let Cell { completer, waiter } = cell;
        let text = format!(
            "plain result, waker
            atomic word
            thread completer {{
                result = {WRITTEN}
                found = word.swap({DONE}, {completer})
                if found == {WAITING} {{ wake = waker }}
            }}
            thread waiter {{
                waker = {WRITTEN}
                state = word.swap({WAITING}, {waiter})
                if state == {DONE} {{ got = result }}
            }}"
        );
        let typed = parse(&text).expect("it is a program");
        let location = |name| typed.program.location(name).expect("it is declared");
        let register = |name| typed.register(name).expect("it is filled");
        let [result, waker, word] = ["result", "waker", "word"].map(location);
        let registers = [["found", "wake"], ["state", "got"]];
        let registers = registers.map(|[found, read]| (register(found), register(read)));
        let mut program = typed.program;
        // `W` is the address of the waker. `DONE` is none: the result lies beside the word.
        program.take_address(COMPLETER, 2, registers[COMPLETER].0);
        for published in [result, waker] {
            program.name_value(published, EMPTY, "empty");
            program.name_value(published, WRITTEN, "written");
        }
        for (value, name) in [(PENDING, "PENDING"), (DONE, "DONE"), (WAITING, "W")] {
            program.name_value(word, value, name);
        }
        Self {
            program,
            result,
            waker,
            word,
            registers,
        }
    }
}

/// One way in which a cell breaks, with the execution that shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The fault.
    pub broken: Broken,
    /// The number of the witness among the cell's executions: an execution that reads something
    /// before it is written, if there is one.
    pub witness: usize,
    /// The race in it.
    pub race: Race,
    /// The edge that would have ordered it, and which halves it lacks.
    pub missing: MissingEdge,
}

/// The verdict on a cell.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The cell.
    pub cell: Cell,
    /// Its program.
    pub protocol: Protocol,
    /// All its executions.
    pub executions: Vec<Execution>,
    /// The faults: nothing, the result, the waker, or both in this order.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether nothing breaks.
    pub fn is_right(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the execution that shows a finding.
    pub fn witness(&self, finding: &Finding) -> &Execution {
        &self.executions[finding.witness]
    }

    /// Returns one sentence about a finding: which half of which exchange would have made the
    /// missing edge.
    pub fn sentence(&self, finding: &Finding) -> String {
        let exchange = |id: EventId| {
            let thread = self.witness(finding).events()[id].thread;
            let threads = self.protocol.program.threads();
            let side = thread.map_or("", |thread| &threads[thread].name);
            format!("the {side}'s exchange")
        };
        let sentence = finding.missing.sentence(exchange);
        format!("{}: {sentence}", finding.broken)
    }

    /// Returns the sentence about a race in one of the executions, if an edge is missing there.
    pub fn sentence_of(&self, witness: usize, race: &Race) -> Option<String> {
        let broken = match race.location == self.protocol.result {
            true => Broken::Result,
            false => Broken::Waker,
        };
        let finding = shown(broken, witness, &self.executions[witness], race)?;
        Some(self.sentence(&finding))
    }
}

/// Returns what breaks on a machine: a side finds the other's mark, and still reads an old value. A
/// race alone breaks nothing here, because the machine runs the compiled program, and this is
/// assumed to be the source, step by step.
pub fn broken_on(protocol: &Protocol, machine: Machine) -> Vec<Broken> {
    let executions = machine.explore(&protocol.program);
    let shows = |broken: &Broken| {
        let thread = match broken {
            Broken::Result => WAITER,
            Broken::Waker => COMPLETER,
        };
        let (_, read) = protocol.registers[thread];
        let mut ends = executions.iter();
        ends.any(|end| end.value(read) == Some(EMPTY))
    };
    Broken::ALL.into_iter().filter(shows).collect()
}

/// Explores the program of a cell.
///
/// ```
/// use axioms::{Model, Ordering, completion::{Broken, Cell, judge}};
///
/// let cell = Cell { completer: Ordering::AcqRel, waiter: Ordering::Release };
/// let verdict = judge(cell, Model::Rc11);
/// assert_eq!(verdict.findings.len(), 1);
/// assert_eq!(verdict.findings[0].broken, Broken::Result);
/// assert!(verdict.findings[0].missing.lacks_acquire);
/// ```
pub fn judge(cell: Cell, model: Model) -> Verdict {
    let protocol = Protocol::new(cell);
    let executions = explore(&protocol.program, model);
    let find = |broken| {
        let location = match broken {
            Broken::Result => protocol.result,
            Broken::Waker => protocol.waker,
        };
        finding(broken, location, &executions)
    };
    let findings = Broken::ALL.into_iter().filter_map(find).collect();
    Verdict {
        cell,
        protocol,
        executions,
        findings,
    }
}

fn finding(broken: Broken, location: Location, executions: &[Execution]) -> Option<Finding> {
    let of_execution = |(witness, execution): (usize, &Execution)| {
        let mut races = execution.races().iter();
        let race = races.find(|race| race.location == location)?;
        let finding = shown(broken, witness, execution, race)?;
        Some((!execution.is_stale(race.other), finding))
    };
    let all = executions.iter().enumerate().filter_map(of_execution);
    all.min_by_key(|&(reads_new, _)| reads_new)
        .map(|(_, finding)| finding)
}

/// The finding that a race of an execution shows.
fn shown(broken: Broken, witness: usize, execution: &Execution, race: &Race) -> Option<Finding> {
    let missing = *execution.missing_edges(race).first()?;
    Some(Finding {
        broken,
        witness,
        race: *race,
        missing,
    })
}
