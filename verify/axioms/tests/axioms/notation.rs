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

use axioms::{
    Execution, Program, Value,
    language::{Typed, parse_large},
};

#[derive(Debug)]
pub(crate) struct Litmus(Typed);

/// The names of the orderings, and what the language calls them. `none` makes no fence.
const ORDERINGS: [[&str; 2]; 6] = [
    ["none", ""],
    ["rlx", "Relaxed"],
    ["acq", "Acquire"],
    ["rel", "Release"],
    ["acqrel", "AcqRel"],
    ["sc", "SeqCst"],
];

pub(crate) fn is_ordering(name: &str) -> bool {
    ORDERINGS.iter().any(|[own, _]| *own == name)
}

impl Litmus {
    /// Reads a program, with these orderings for its `$1`, `$2` and so on.
    pub(crate) fn new(text: &str, orderings: &[&str]) -> Self {
        let fill = |text: String, (place, ordering): (usize, &&str)| {
            text.replace(&format!("${}", place + 1), ordering)
        };
        let text = orderings.iter().enumerate().fold(text.to_owned(), fill);
        let mut typed = "plain D\natomic x, y, z\n".to_owned();
        let mut addresses = Vec::new();
        for (thread, steps) in text.split('|').enumerate() {
            typed += "thread {\n";
            let mut number = 0;
            for step in steps.split(';').map(str::trim) {
                let (line, address) = line(step);
                addresses.extend(address.map(|register| (thread, number, register)));
                // Only what `F.none` stands for has no call and no assignment.
                number += usize::from(line.contains('(') || line.contains(" = "));
                typed += &format!("{line}\n");
            }
            typed += "}\n";
        }
        let read = parse_large(&typed);
        let mut litmus = Self(read.unwrap_or_else(|mistake| panic!("{mistake} in\n{typed}")));
        for (thread, step, register) in addresses {
            let register = litmus.0.register(register).expect("it is filled");
            litmus.0.program.take_address(thread, step, register);
        }
        litmus
    }

    pub(crate) fn program(&self) -> &Program {
        &self.0.program
    }

    /// Whether an execution ends as `end` says: `race`, or values of registers and locations.
    pub(crate) fn ends(&self, execution: &Execution, end: &str) -> bool {
        let found = |name: &str| match self.program().location(name) {
            Some(location) => Some(execution.last(location)),
            None => execution.value(self.0.register(name).expect("it is filled")),
        };
        let number = |text: &str| text.parse::<Value>().expect(text);
        let holds = |part: &str| match (part.split_once("!="), part.split_once('=')) {
            (Some((name, value)), _) => found(name) != Some(number(value)),
            (None, Some((name, value))) => found(name) == Some(number(value)),
            _ => part == "race" && !execution.races().is_empty(),
        };
        end.split_whitespace().all(holds)
    }
}

/// A step as the language has it, and the register that its address comes from.
fn line(step: &str) -> (String, Option<&str>) {
    if let Some((condition, then)) = step.strip_prefix("if ").and_then(|t| t.split_once(": ")) {
        let (line, address) = line(then);
        let condition = condition.replace('=', " == ");
        return (format!("if {condition} {{ {line} }}"), address);
    }
    if let Some((pointer, then)) = step.strip_prefix('@').and_then(|t| t.split_once(':')) {
        return (line(then).0, Some(pointer));
    }
    let (access, name) = step.split_once('.').unwrap_or((step, "rlx"));
    let ordering = ORDERINGS.iter().find(|[own, _]| *own == name);
    let [_, ordering] = ordering.unwrap_or_else(|| panic!("{name} is no ordering"));
    let line = match access.split_once('=') {
        None if ordering.is_empty() => String::new(),
        None => format!("fence({ordering})"),
        Some((left, right)) => match (left, right.split_once("<-"), right.split_once('+')) {
            ("D", ..) => format!("D = {right}"),
            ("x" | "y" | "z", ..) => format!("{left}.store({right}, {ordering})"),
            (_, Some((at, value)), _) => format!("{left} = {at}.swap({value}, {ordering})"),
            (_, _, Some((at, value))) => format!("{left} = {at}.fetch_add({value}, {ordering})"),
            _ if right == "D" => format!("{left} = D"),
            _ => format!("{left} = {right}.load({ordering})"),
        },
    };
    (line, None)
}
