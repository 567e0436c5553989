//! Alpha as a machine that runs, and not as axioms: one memory, and for each processor a buffer of
//! writes that have not arrived there, and a queue of messages that its copies are invalid.
//!
//! Instructions run in order. A barrier waits until the buffer is empty, and then looks through the
//! queue. Without one, writes of different locations arrive in any order, and a read finds its
//! processor's own write, or any value that the processor has not been told to forget.

use std::collections::BTreeSet;

use axioms::{
    Machine, Ordering, Program, Value,
    program::{Instruction, Kind, Operand, Step},
};

use crate::{
    generate::recipes,
    laws::{End, MOSTLY_SIMPLE, SMALL, ends_of},
};

#[derive(Clone, Copy)]
enum Task<'p> {
    Instruction(&'p Instruction),
    Access(&'p Step),
    Barrier,
}

#[derive(Clone)]
struct Processor<'p> {
    /// What is left to do, the next task last.
    left: Vec<Task<'p>>,
    registers: Vec<Option<Value>>,
    /// Location and value of each write that has not arrived, the oldest first.
    buffer: Vec<(usize, Value)>,
    /// For each location, the oldest of its values that a read can find.
    oldest: Vec<usize>,
}

#[derive(Clone)]
struct State<'p> {
    program: &'p Program,
    processors: Vec<Processor<'p>>,
    /// For each location, all values that it has had.
    memory: Vec<Vec<Value>>,
}

fn tasks(code: &[Instruction]) -> impl Iterator<Item = Task<'_>> {
    code.iter().rev().map(Task::Instruction)
}

/// Every end of the program on this machine.
fn ends(program: &Program) -> BTreeSet<End> {
    let initial = |location| vec![program.variable(location).initial];
    let memory: Vec<_> = program.locations().map(initial).collect();
    let threads = program.threads().iter();
    let processors = threads.map(|thread| Processor {
        left: tasks(&thread.code).collect(),
        registers: vec![None; thread.registers],
        buffer: Vec::new(),
        oldest: vec![0; memory.len()],
    });
    let processors = processors.collect();
    let mut ends = BTreeSet::new();
    let mut left = vec![State {
        program,
        processors,
        memory,
    }];
    while let Some(state) = left.pop() {
        let all = 0..state.processors.len();
        // What touches its processor alone comes at once, because no other order leads elsewhere.
        let local = all.clone().find(|&number| state.is_local(number));
        let numbers = local.map_or(all, |number| number..number + 1);
        let next: Vec<_> = numbers.flat_map(|number| state.next(number)).collect();
        if next.is_empty() {
            let registers = state.processors.iter().map(|one| one.registers.clone());
            let last = state.memory.iter().filter_map(|values| values.last());
            ends.insert((registers.collect(), last.copied().collect()));
        }
        left.extend(next);
    }
    ends
}

impl<'p> State<'p> {
    fn is_local(&self, number: usize) -> bool {
        match self.processors[number].left.last() {
            Some(Task::Instruction(_)) => true,
            Some(Task::Access(step)) => !step.kind.reads(),
            Some(Task::Barrier) | None => false,
        }
    }

    /// The states after one action of this processor.
    fn next(&self, number: usize) -> Vec<Self> {
        let mut state = self.clone();
        let Some(task) = state.processors[number].left.pop() else {
            return self.arrivals(number);
        };
        let processor = &mut state.processors[number];
        match task {
            Task::Instruction(Instruction::Step(step)) => {
                let barrier = |half: fn(Ordering) -> bool| step.ordering.is_some_and(half);
                if step.kind == Kind::Fence {
                    processor.left.push(Task::Barrier);
                    return vec![state];
                }
                let after = barrier(Ordering::acquires).then_some(Task::Barrier);
                let before = barrier(Ordering::releases).then_some(Task::Barrier);
                let tasks = after.into_iter().chain([Task::Access(step)]).chain(before);
                processor.left.extend(tasks);
                vec![state]
            }
            Task::Instruction(Instruction::Branch {
                on,
                equals,
                then,
                otherwise,
            }) => {
                let holds = processor.registers[on.index()] == Some(*equals);
                let taken = if holds { then } else { otherwise };
                processor.left.extend(tasks(taken));
                vec![state]
            }
            Task::Barrier if processor.buffer.is_empty() => {
                let newest = state.memory.iter().map(|values| values.len() - 1);
                processor.oldest = newest.collect();
                vec![state]
            }
            Task::Barrier => self.arrivals(number),
            Task::Access(step) => {
                let is_local = self.is_local(number);
                let mut all = if is_local {
                    Vec::new()
                } else {
                    self.arrivals(number)
                };
                all.extend(state.accesses(number, step));
                all
            }
        }
    }

    /// A write arrives. Those of one location do so in order.
    fn arrivals(&self, number: usize) -> Vec<Self> {
        let buffer = &self.processors[number].buffer;
        let is_first = |&place: &usize| {
            let mut older = buffer[..place].iter();
            older.all(|write| write.0 != buffer[place].0)
        };
        let places = (0..buffer.len()).filter(is_first);
        let arrives = |place| {
            let mut state = self.clone();
            let (location, value) = state.processors[number].buffer.remove(place);
            state.write(number, location, value);
            state
        };
        places.map(arrives).collect()
    }

    fn write(&mut self, number: usize, location: usize, value: Value) {
        self.memory[location].push(value);
        self.processors[number].oldest[location] = self.memory[location].len() - 1;
    }

    fn accesses(self, number: usize, step: &Step) -> Vec<Self> {
        let mut locations = self.program.locations();
        let location = locations.position(|at| Some(at) == step.location);
        let location = location.expect("an access has a location");
        let processor = &self.processors[number];
        let operand = match step.operand {
            Some(Operand::Constant(value)) => value,
            Some(Operand::Register(register)) => {
                processor.registers[register.index()].expect("it is filled")
            }
            None => 0,
        };
        let mut own = processor.buffer.iter().rev();
        let own = own.find(|write| write.0 == location).map(|write| write.1);
        if step.kind.is_exchange() {
            return match own {
                Some(_) => Vec::new(),
                None => vec![self.exchanged(number, location, step, operand)],
            };
        }
        if step.kind.writes() {
            let mut state = self;
            state.processors[number].buffer.push((location, operand));
            return vec![state];
        }
        if let Some(value) = own {
            return vec![self.filled(number, step, value)];
        }
        let readable = processor.oldest[location]..self.memory[location].len();
        let reads = |place: usize| {
            let mut state = self.clone();
            state.processors[number].oldest[location] = place;
            let value = state.memory[location][place];
            state.filled(number, step, value)
        };
        readable.map(reads).collect()
    }

    fn exchanged(mut self, number: usize, location: usize, step: &Step, operand: Value) -> Self {
        let found = *self.memory[location].last().expect("it has a value");
        let next = match step.kind {
            Kind::FetchAdd => found.wrapping_add(operand),
            _ => operand,
        };
        self.write(number, location, next);
        self.filled(number, step, found)
    }

    fn filled(mut self, number: usize, step: &Step, value: Value) -> Self {
        if let Some(into) = step.into {
            self.processors[number].registers[into.index()] = Some(value);
        }
        self
    }
}

/// Whether no thread writes after it has read, so that nothing can be read early.
fn reads_last(program: &Program) -> bool {
    program.threads().iter().all(|thread| {
        let steps = thread.steps();
        let read = steps.iter().position(|step| step.kind.reads());
        let later = &steps[read.map_or(steps.len(), |read| read + 1)..];
        !later.iter().any(|step| step.kind.writes())
    })
}

/// The axioms also allow what no such machine does: reads before their time.
#[test]
fn alphas_axioms_allow_what_an_invalidate_queue_does() {
    let kinds = [&MOSTLY_SIMPLE[..], &[Kind::Read, Kind::Write]].concat();
    let mut same = 0;
    for recipe in recipes(400, SMALL, &kinds, &Ordering::ALL) {
        let program = recipe.program();
        let run = ends(&program);
        let allowed = ends_of(&program, &Machine::Alpha.explore(&program));
        assert!(run.is_subset(&allowed), "{recipe:?}");
        if reads_last(&program) {
            same += 1;
            assert_eq!(run, allowed, "{recipe:?}");
        }
    }
    assert!(same > 60, "{same} programs that only read at their end");
}
