//! One run of one thread, step by step, on what its reads are told that they found.

use core::slice;

use crate::{
    Event, Ordering, Register, Value,
    execution::Needs,
    program::{Instruction, Kind, Operand, Step, Thread},
};

/// The events and registers of a run.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    pub(crate) registers: Vec<Option<Value>>,
}

/// A run in progress.
#[derive(Clone)]
pub(crate) struct Run<'p> {
    thread: usize,
    /// The rest of each block that the run is in, the innermost last.
    rest: Vec<slice::Iter<'p, Instruction>>,
    /// Which step filled each register.
    filled: Vec<Option<usize>>,
    /// The steps that decided the branches so far.
    decided: Vec<usize>,
    pub(crate) trace: Trace,
}

impl<'p> Run<'p> {
    pub(crate) fn new(number: usize, thread: &'p Thread) -> Self {
        let trace = Trace {
            events: Vec::new(),
            registers: vec![None; thread.registers],
        };
        Self {
            thread: number,
            rest: vec![thread.code.iter()],
            filled: vec![None; thread.registers],
            decided: Vec::new(),
            trace,
        }
    }

    /// Returns the next step, after taking the branches before it.
    pub(crate) fn next(&mut self) -> Option<&'p Step> {
        loop {
            match self.next_instruction()? {
                Instruction::Step(step) => return Some(step),
                Instruction::Branch {
                    on,
                    equals,
                    then,
                    otherwise,
                } => {
                    let taken = self.register(on.index()) == *equals;
                    self.decided.extend(self.filled[on.index()]);
                    self.rest.push(if taken { then } else { otherwise }.iter());
                }
            }
        }
    }

    fn next_instruction(&mut self) -> Option<&'p Instruction> {
        while let Some(block) = self.rest.last_mut() {
            if let Some(instruction) = block.next() {
                return Some(instruction);
            }
            self.rest.pop();
        }
        None
    }

    /// The kind of the event of a step whose read finds `read`, and its ordering.
    pub(crate) fn outcome(&self, step: &Step, read: Option<Value>) -> (Kind, Option<Ordering>) {
        match step.compared {
            Some((expected, failure)) if Some(self.operand(expected)) != read => {
                (Kind::FailedExchange, Some(failure))
            }
            _ => (step.kind, step.ordering),
        }
    }

    fn operand(&self, operand: Operand) -> Value {
        match operand {
            Operand::Constant(value) => value,
            Operand::Register(register) => self.register(register.index()),
        }
    }

    /// Executes a step, whose read finds `read`.
    pub(crate) fn take(&mut self, step: &Step, read: Option<Value>) {
        let (kind, ordering) = self.outcome(step, read);
        let operand = step.operand.map(|operand| self.operand(operand));
        let written = match kind {
            Kind::FailedExchange => None,
            Kind::FetchAdd => operand
                .zip(read)
                .map(|(more, found)| found.wrapping_add(more)),
            Kind::FetchSub => operand
                .zip(read)
                .map(|(less, found)| found.wrapping_sub(less)),
            _ => operand,
        };
        let needs = self.needs(step);
        if let Some(register) = step.into {
            self.trace.registers[register.index()] = read;
            self.filled[register.index()] = Some(step.number);
        }
        self.trace.events.push(Event {
            thread: Some(self.thread),
            step: step.number,
            kind,
            location: step.location,
            ordering,
            read,
            written,
            needs,
        });
    }

    fn needs(&self, step: &Step) -> Needs {
        let filled = |register: Register| self.filled[register.index()];
        let expected = step.compared.map(|(expected, _)| expected);
        let operands = step.operand.into_iter().chain(expected);
        let data = operands.filter_map(|operand| match operand {
            Operand::Register(register) => filled(register),
            Operand::Constant(_) => None,
        });
        Needs {
            address: step.address.and_then(filled),
            data: data.collect(),
            control: self.decided.clone(),
        }
    }

    fn register(&self, index: usize) -> Value {
        self.trace.registers[index].expect("a register is used where it has been filled")
    }
}
