//! The instructions of a thread: a method for each, which rejects instructions that make no sense.

use crate::{
    Location, Ordering, Register, Value,
    program::{Instruction, Kind, Operand, Step, Thread, Variable},
};

/// The instructions of one thread, while it is being written.
#[derive(Debug)]
pub struct Code<'p> {
    variables: &'p [Variable],
    thread: usize,
    registers: usize,
    steps: usize,
    /// The register that the address of the next access comes from.
    address: Option<Register>,
    block: Vec<Instruction>,
}

impl<'p> Code<'p> {
    pub(crate) fn new(variables: &'p [Variable], thread: usize) -> Self {
        Self {
            variables,
            thread,
            registers: 0,
            steps: 0,
            address: None,
            block: Vec::new(),
        }
    }

    pub(crate) fn finish(self, name: &str) -> Thread {
        Thread {
            name: name.to_owned(),
            code: self.block,
            registers: self.registers,
        }
    }

    /// Says that the next access gets its address from the register's value, as in
    /// `code.through(pointer).read(place)`. The language ignores where an address comes from, but
    /// [machines](crate::Machine) do not.
    ///
    /// # Panics
    /// If the register is another thread's.
    pub fn through(&mut self, pointer: Register) -> &mut Self {
        self.assert_own(pointer);
        self.address = Some(pointer);
        self
    }

    /// Reads a location that is not atomic.
    ///
    /// # Panics
    /// If the location is atomic.
    pub fn read(&mut self, from: Location) -> Register {
        self.reading(Kind::Read, from, None, None)
    }

    /// Writes a location that is not atomic.
    ///
    /// # Panics
    /// If the location is atomic.
    pub fn write(&mut self, to: Location, value: impl Into<Operand>) {
        self.step(Kind::Write, Some(to), None, Some(value.into()), None);
    }

    /// Loads an atomic location.
    ///
    /// # Panics
    /// If the location is not atomic, or if the ordering is release or acq_rel, which no load has.
    pub fn load(&mut self, from: Location, ordering: Ordering) -> Register {
        assert!(
            ordering.fits_load(),
            "a load is relaxed, acquire or seq_cst, not {ordering}"
        );
        self.reading(Kind::Load, from, Some(ordering), None)
    }

    /// Stores to an atomic location.
    ///
    /// # Panics
    /// If the location is not atomic, or if the ordering is acquire or acq_rel, which no store has.
    pub fn store(&mut self, to: Location, value: impl Into<Operand>, ordering: Ordering) {
        assert!(
            ordering.fits_store(),
            "a store is relaxed, release or seq_cst, not {ordering}"
        );
        self.step(
            Kind::Store,
            Some(to),
            Some(ordering),
            Some(value.into()),
            None,
        );
    }

    /// Swaps a value into an atomic location.
    ///
    /// # Panics
    /// If the location is not atomic.
    pub fn swap(
        &mut self,
        at: Location,
        value: impl Into<Operand>,
        ordering: Ordering,
    ) -> Register {
        self.reading(Kind::Swap, at, Some(ordering), Some(value.into()))
    }

    /// Adds to an atomic location.
    ///
    /// # Panics
    /// If the location is not atomic.
    pub fn fetch_add(
        &mut self,
        at: Location,
        value: impl Into<Operand>,
        ordering: Ordering,
    ) -> Register {
        self.reading(Kind::FetchAdd, at, Some(ordering), Some(value.into()))
    }

    /// A fence.
    ///
    /// # Panics
    /// If the ordering is relaxed, because such a fence orders nothing.
    pub fn fence(&mut self, ordering: Ordering) {
        assert!(
            ordering != Ordering::Relaxed,
            "a relaxed fence orders nothing"
        );
        self.step(Kind::Fence, None, Some(ordering), None, None);
    }

    /// Runs the instructions of `then` if the register holds `equals`, and returns what `then`
    /// returns. Otherwise the registers of `then` hold nothing.
    pub fn when<R>(&mut self, on: Register, equals: Value, then: impl FnOnce(&mut Self) -> R) -> R {
        self.branch(on, equals, then, |_| ()).0
    }

    /// Runs the instructions of `then` if the register holds `equals`, and those of `otherwise` if
    /// not.
    ///
    /// # Panics
    /// If the register is another thread's.
    pub fn branch<R, S>(
        &mut self,
        on: Register,
        equals: Value,
        then: impl FnOnce(&mut Self) -> R,
        otherwise: impl FnOnce(&mut Self) -> S,
    ) -> (R, S) {
        self.assert_own(on);
        let before = core::mem::take(&mut self.block);
        let first = then(self);
        let then = core::mem::take(&mut self.block);
        let second = otherwise(self);
        let otherwise = core::mem::replace(&mut self.block, before);
        self.block.push(Instruction::Branch {
            on,
            equals,
            then,
            otherwise,
        });
        (first, second)
    }

    fn reading(
        &mut self,
        kind: Kind,
        location: Location,
        ordering: Option<Ordering>,
        operand: Option<Operand>,
    ) -> Register {
        let into = Register {
            thread: self.thread,
            index: self.registers,
        };
        self.registers += 1;
        self.step(kind, Some(location), ordering, operand, Some(into));
        into
    }

    fn step(
        &mut self,
        kind: Kind,
        location: Option<Location>,
        ordering: Option<Ordering>,
        operand: Option<Operand>,
        into: Option<Register>,
    ) {
        if let Some(Location(index)) = location {
            let Variable {
                name, is_atomic, ..
            } = &self.variables[index];
            assert!(
                *is_atomic != kind.is_plain(),
                "{name}: accesses are all atomic or all plain"
            );
        }
        if let Some(Operand::Register(register)) = operand {
            self.assert_own(register);
        }
        let address = self.address.take().filter(|_| location.is_some());
        let number = self.steps;
        self.steps += 1;
        let step = Step {
            number,
            kind,
            location,
            ordering,
            address,
            operand,
            into,
        };
        self.block.push(Instruction::Step(step));
    }

    fn assert_own(&self, register: Register) {
        assert!(
            register.thread == self.thread,
            "a register belongs to one thread"
        );
    }
}
