//! A short notation for litmus tests.
//!
//! Threads are separated by `|`, and steps by `;`. `D` is a plain location, and `x`, `y`, `z` are
//! atomic ones. Other letters are registers.
//!
//! | step | does |
//! |---|---|
//! | `x=1.rel`, `x=a` | stores a number or a register |
//! | `a=x.acq` | loads |
//! | `a=x<-2.acqrel`, `a=x+1` | swaps, adds |
//! | `F.sc` | makes a fence; `F.none` makes none |
//! | `if a=1: STEP` | does the step if the register holds the value |
//! | `@a:STEP` | takes the address of the access from the register |
//!
//! An operation without an ordering is relaxed. `$1` stands for the first ordering of a case.

use std::collections::BTreeMap;

use axioms::{
    Code, Execution, Location,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    Program, Register, Value,
    program::Operand,
};

/// A program with the names of its parts.
#[derive(Debug)]
pub(crate) struct Litmus {
    pub(crate) program: Program,
    locations: BTreeMap<String, Location>,
    registers: BTreeMap<String, Register>,
}

/// Returns the ordering of a name, or `None` where there is no fence.
fn ordering(name: &str) -> Option<Ordering> {
    match name {
        "none" => None,
        "rlx" => Some(Relaxed),
        "acq" => Some(Acquire),
        "rel" => Some(Release),
        "acqrel" => Some(AcqRel),
        "sc" => Some(SeqCst),
        _ => panic!("{name} is no ordering"),
    }
}

pub(crate) fn is_ordering(name: &str) -> bool {
    ["none", "rlx", "acq", "rel", "acqrel", "sc"].contains(&name)
}

impl Litmus {
    /// Reads a program, with these orderings for its `$1`, `$2` and so on.
    pub(crate) fn new(name: &str, text: &str, orderings: &[&str]) -> Self {
        let fill = |text: String, (place, ordering): (usize, &&str)| {
            text.replace(&format!("${}", place + 1), ordering)
        };
        let text = orderings.iter().enumerate().fold(text.to_owned(), fill);
        let mut program = Program::new(name);
        let mut locations = BTreeMap::from([("D".to_owned(), program.plain("D", 0))]);
        for name in ["x", "y", "z"] {
            locations.insert(name.to_owned(), program.atomic(name, 0));
        }
        let mut litmus = Self {
            program,
            locations,
            registers: BTreeMap::new(),
        };
        for thread in text.split('|') {
            let Self {
                program,
                locations,
                registers,
            } = &mut litmus;
            program.thread("thread", |code| {
                let steps = thread.split(';').map(str::trim);
                steps.for_each(|one| step(one, code, locations, registers));
            });
        }
        litmus
    }

    /// Whether an execution ends as `end` says: `race`, or values of registers and locations.
    pub(crate) fn ends(&self, execution: &Execution, end: &str) -> bool {
        let found = |name: &str| match self.locations.get(name) {
            Some(&location) => Some(execution.last(location)),
            None => execution.value(self.registers[name]),
        };
        let holds = |part: &str| match (part.split_once("!="), part.split_once('=')) {
            (Some((name, value)), _) => found(name) != Some(number(value)),
            (None, Some((name, value))) => found(name) == Some(number(value)),
            _ => part == "race" && !execution.races().is_empty(),
        };
        end.split_whitespace().all(holds)
    }
}

fn number(text: &str) -> Value {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is no number"))
}

fn step(
    text: &str,
    code: &mut Code<'_>,
    locations: &BTreeMap<String, Location>,
    registers: &mut BTreeMap<String, Register>,
) {
    if let Some((condition, then)) = text.strip_prefix("if ").and_then(|t| t.split_once(": ")) {
        let (register, value) = condition.split_once('=').expect("a value is compared with");
        let (register, value) = (registers[register], number(value));
        return code.when(register, value, |code| {
            step(then, code, locations, registers);
        });
    }
    if let Some((pointer, then)) = text.strip_prefix('@').and_then(|t| t.split_once(':')) {
        return step(then, code.through(registers[pointer]), locations, registers);
    }
    let (text, order) = text.split_once('.').unwrap_or((text, "rlx"));
    let order = ordering(order);
    let Some((left, right)) = text.split_once('=') else {
        return order.into_iter().for_each(|order| code.fence(order));
    };
    let order = order.expect("an access has an ordering");
    if let Some(&to) = locations.get(left) {
        let value = match registers.get(right) {
            Some(&register) => Operand::from(register),
            None => Operand::from(number(right)),
        };
        return match left {
            "D" => code.write(to, value),
            _ => code.store(to, value, order),
        };
    }
    let read = match (right.split_once("<-"), right.split_once('+')) {
        (Some((at, value)), _) => code.swap(locations[at], number(value), order),
        (_, Some((at, value))) => code.fetch_add(locations[at], number(value), order),
        _ if right == "D" => code.read(locations[right]),
        _ => code.load(locations[right], order),
    };
    registers.insert(left.to_owned(), read);
}
