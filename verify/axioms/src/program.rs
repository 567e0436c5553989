//! A program as it is written: locations, threads, instructions, and branches on the content of a
//! register. There are no loops.

use crate::Ordering;

/// The value of a location or of a register.
pub type Value = u32;

/// A memory location of a [`Program`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Location(pub(crate) usize);

/// A register of one thread.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Register {
    pub(crate) thread: usize,
    pub(crate) index: usize,
}

impl Register {
    /// The number of its thread.
    pub fn thread(self) -> usize {
        self.thread
    }

    /// Its number in its thread.
    pub fn index(self) -> usize {
        self.index
    }
}

/// The value that is written: a constant, or that of a register.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operand {
    /// A constant.
    Constant(Value),
    /// The value of a register of the same thread.
    Register(Register),
}

/// What an instruction, or its event, does to memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// The initial value of a location. Only events have this kind.
    Initial,
    /// A read that is not atomic.
    Read,
    /// A write that is not atomic.
    Write,
    /// An atomic load.
    Load,
    /// An atomic store.
    Store,
    /// An atomic exchange.
    Swap,
    /// An atomic addition, which wraps.
    FetchAdd,
    /// An atomic subtraction, which wraps.
    FetchSub,
    /// An atomic compare-exchange. An event of this kind has succeeded.
    CompareExchange,
    /// A compare-exchange that has found another value: a load. Only events have this kind.
    FailedExchange,
    /// A fence.
    Fence,
}

impl Kind {
    /// Whether it reads its location.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Load | Self::FailedExchange) || self.is_exchange()
    }

    /// Whether it writes its location.
    pub fn writes(self) -> bool {
        matches!(self, Self::Initial | Self::Write | Self::Store) || self.is_exchange()
    }

    /// Whether it reads and writes in one step.
    pub fn is_exchange(self) -> bool {
        matches!(
            self,
            Self::Swap | Self::FetchAdd | Self::FetchSub | Self::CompareExchange
        )
    }

    /// Whether it is an access that is not atomic.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Initial | Self::Read | Self::Write)
    }
}

/// One access or fence as it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    /// Its number among the steps of its thread, in the order of the text.
    pub number: usize,
    /// Its kind.
    pub kind: Kind,
    /// Its location, or `None` if it is a fence.
    pub location: Option<Location>,
    /// Its ordering, or `None` if it is not atomic.
    pub ordering: Option<Ordering>,
    /// The register that gives its address, or `None` if the text gives it.
    pub address: Option<Register>,
    /// The value that it writes or adds.
    pub operand: Option<Operand>,
    /// What a compare-exchange has to find, and its ordering if it finds another value.
    pub compared: Option<(Operand, Ordering)>,
    /// The register that receives the value that it reads.
    pub into: Option<Register>,
}

/// An instruction of a thread.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Instruction {
    /// An access or a fence.
    Step(Step),
    /// A choice by what a register holds.
    Branch {
        /// The register.
        on: Register,
        /// The value that it is compared with.
        equals: Value,
        /// The steps if it holds that value.
        then: Vec<Instruction>,
        /// The steps otherwise.
        otherwise: Vec<Instruction>,
    },
}

/// A thread of a [`Program`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub code: Vec<Instruction>,
    /// How many registers it has.
    pub registers: usize,
}

impl Thread {
    /// All steps in the order of the text, whichever branch they are in.
    pub fn steps(&self) -> Vec<&Step> {
        let mut steps = Vec::new();
        steps_of(&self.code, &mut steps);
        steps
    }
}

/// A location as it is declared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Whether its accesses are atomic: all of them, or none.
    pub is_atomic: bool,
    /// Its value at first.
    pub initial: Value,
    /// Names for some of its values.
    names: Vec<(Value, String)>,
}

/// A program of a few threads. [`parse`](crate::language::parse) it, then
/// [`explore`](crate::explore()) it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Program {
    variables: Vec<Variable>,
    threads: Vec<Thread>,
}

impl Program {
    pub(crate) fn declare(&mut self, name: &str, initial: Value, is_atomic: bool) {
        let name = name.to_owned();
        self.variables.push(Variable {
            name,
            is_atomic,
            initial,
            names: Vec::new(),
        });
    }

    /// Gives `value` a name where it is read from or written to `location`.
    pub fn name_value(&mut self, location: Location, value: Value, name: &str) {
        self.variables[location.0]
            .names
            .push((value, name.to_owned()));
    }

    pub(crate) fn add(&mut self, thread: Thread) {
        self.threads.push(thread);
    }

    /// Says that a step of a thread gets its address from a register of it. The language ignores
    /// where an address comes from, but [machines](crate::Machine) do not.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn take_address(&mut self, thread: usize, step: usize, from: Register) {
        let step = step_of(&mut self.threads[thread].code, step);
        step.expect("the thread has the step").address = Some(from);
    }

    /// Its threads, by number.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Its locations, in the order in which they were declared.
    pub fn locations(&self) -> impl Iterator<Item = Location> + use<> {
        (0..self.variables.len()).map(Location)
    }

    /// Returns the location of this name.
    pub fn location(&self, name: &str) -> Option<Location> {
        self.locations().find(|&at| self.variable(at).name == name)
    }

    /// Returns the declaration of `location`.
    pub fn variable(&self, location: Location) -> &Variable {
        &self.variables[location.0]
    }

    /// The name of `value` at `location`, or its digits.
    pub fn show(&self, location: Location, value: Value) -> String {
        let mut names = self.variable(location).names.iter();
        let named = names.find(|(named, _)| *named == value);
        named.map_or_else(|| value.to_string(), |(_, name)| name.clone())
    }

    /// All steps of all threads in the order of the text, whichever branch they are in.
    pub fn steps(&self) -> Vec<&Step> {
        self.threads.iter().flat_map(Thread::steps).collect()
    }
}

fn steps_of<'p>(code: &'p [Instruction], steps: &mut Vec<&'p Step>) {
    for instruction in code {
        match instruction {
            Instruction::Step(step) => steps.push(step),
            Instruction::Branch {
                then, otherwise, ..
            } => {
                steps_of(then, steps);
                steps_of(otherwise, steps);
            }
        }
    }
}

fn step_of(code: &mut [Instruction], number: usize) -> Option<&mut Step> {
    code.iter_mut().find_map(|instruction| match instruction {
        Instruction::Step(step) => (step.number == number).then_some(step),
        Instruction::Branch {
            then, otherwise, ..
        } => step_of(then, number).or_else(|| step_of(otherwise, number)),
    })
}
