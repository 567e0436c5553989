//! Programs as litmus tests for herd7, in its C dialect.
//!
//! herd7 (<https://github.com/herd/herdtools7>) is a checker of the same kind by other authors:
//! `herd7 -c11 true -model rc11.cat FILE`. It looks for the condition after `exists`, and reports
//! data races on its own.

use core::fmt::Write as _;

use crate::{
    Program, Register, Value,
    completion::{COMPLETER, DONE, EMPTY, Protocol, WAITER, WAITING},
    program::{Instruction, Kind, Operand, Step, Thread},
};

/// Ends of a program: any of these, each with all its registers holding these values.
pub type Ends<'e> = [&'e [(Register, Value)]];

/// Returns the program as a litmus test that asks whether one of `ends` exists.
pub fn litmus(program: &Program, ends: &Ends<'_>) -> String {
    let mut text = format!("C {}\n\n{{\n", program.name());
    for location in program.locations() {
        let variable = program.variable(location);
        let _ = writeln!(text, "{} = {};", variable.name, variable.initial);
    }
    text += "}\n";
    for (number, thread) in program.threads().iter().enumerate() {
        text += &Function {
            program,
            unfilled: unwritten(program),
        }
        .text(number, thread);
    }
    let term = |&(register, value): &(Register, Value)| {
        format!("{}:{}={value}", register.thread(), name(register))
    };
    let all = |end: &&[(Register, Value)]| {
        format!(
            "({})",
            end.iter().map(term).collect::<Vec<_>>().join(" /\\ ")
        )
    };
    let ends: Vec<_> = ends.iter().map(all).collect();
    let _ = writeln!(text, "\nexists ({})", ends.join(" \\/ "));
    text
}

/// Returns the litmus test of a completion, which asks whether a side reads something before it is
/// written.
pub fn completion(protocol: &Protocol) -> String {
    let (found, waker) = protocol.registers[COMPLETER];
    let (seen, result) = protocol.registers[WAITER];
    let completer = [(found, WAITING), (waker, EMPTY)];
    let waiter = [(seen, DONE), (result, EMPTY)];
    litmus(&protocol.program, &[&completer, &waiter])
}

fn name(register: Register) -> String {
    format!("r{}", register.index())
}

/// A value that does not occur in the program, for registers whose branch is not taken.
fn unwritten(program: &Program) -> Value {
    let steps = program.steps();
    let constants = steps.iter().filter_map(|step| match step.operand {
        Some(Operand::Constant(value)) => Some(value),
        _ => None,
    });
    let initial = program
        .locations()
        .map(|location| program.variable(location).initial);
    constants
        .chain(initial)
        .max()
        .unwrap_or_default()
        .wrapping_add(97)
}

struct Function<'p> {
    program: &'p Program,
    unfilled: Value,
}

impl Function<'_> {
    fn text(&self, number: usize, thread: &Thread) -> String {
        let parameter = |location| {
            let variable = self.program.variable(location);
            let kind = if variable.is_atomic {
                "atomic_int"
            } else {
                "int"
            };
            format!("{kind}* {}", variable.name)
        };
        let parameters: Vec<_> = self.program.locations().map(parameter).collect();
        let mut text = format!("\nP{number} ({}) {{\n", parameters.join(", "));
        self.declare(&thread.code, 0, &mut text);
        self.block(&thread.code, 1, &mut text);
        text + "}\n"
    }

    /// Declares the registers of branches, because a declaration inside a branch would end with the
    /// branch.
    fn declare(&self, code: &[Instruction], depth: usize, text: &mut String) {
        for instruction in code {
            match instruction {
                Instruction::Step(Step {
                    into: Some(register),
                    ..
                }) if depth > 0 => {
                    let _ = writeln!(text, "  int {} = {};", name(*register), self.unfilled);
                }
                Instruction::Step(_) => {}
                Instruction::Branch {
                    then, otherwise, ..
                } => {
                    self.declare(then, depth + 1, text);
                    self.declare(otherwise, depth + 1, text);
                }
            }
        }
    }

    fn block(&self, code: &[Instruction], depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        for instruction in code {
            match instruction {
                Instruction::Step(step) => {
                    let declared = if depth == 1 { "int " } else { "" };
                    let into = step
                        .into
                        .map(|register| format!("{declared}{} = ", name(register)));
                    let into = into.unwrap_or_default();
                    let _ = writeln!(text, "{indent}{into}{};", self.step(step));
                }
                Instruction::Branch {
                    on,
                    equals,
                    then,
                    otherwise,
                } => {
                    let _ = writeln!(text, "{indent}if ({} == {equals}) {{", name(*on));
                    self.block(then, depth + 1, text);
                    if !otherwise.is_empty() {
                        let _ = writeln!(text, "{indent}}} else {{");
                        self.block(otherwise, depth + 1, text);
                    }
                    let _ = writeln!(text, "{indent}}}");
                }
            }
        }
    }

    fn step(&self, step: &Step) -> String {
        let place = step
            .location
            .map(|location| self.program.variable(location).name.as_str());
        let place = place.unwrap_or_default();
        let value = step.operand.map(|operand| match operand {
            Operand::Constant(value) => value.to_string(),
            Operand::Register(register) => name(register),
        });
        let value = value.unwrap_or_default();
        let ordering = step
            .ordering
            .map(|ordering| format!("memory_order_{ordering}"));
        let ordering = ordering.unwrap_or_default();
        match step.kind {
            Kind::Initial => String::new(),
            Kind::Read => format!("*{place}"),
            Kind::Write => format!("*{place} = {value}"),
            Kind::Load => format!("atomic_load_explicit({place}, {ordering})"),
            Kind::Store => format!("atomic_store_explicit({place}, {value}, {ordering})"),
            Kind::Swap => format!("atomic_exchange_explicit({place}, {value}, {ordering})"),
            Kind::FetchAdd => format!("atomic_fetch_add_explicit({place}, {value}, {ordering})"),
            Kind::Fence => format!("atomic_thread_fence({ordering})"),
        }
    }
}
