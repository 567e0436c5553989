//! The history of the clients' operations and their results, with a check that one register
//! explains them.
//!
//! A history is linearizable if each operation can be given a moment between its call and its
//! return at which it happened all at once. (Maurice Herlihy and Jeannette Wing, 1990. The search
//! is Jeannette Wing's and Chun Gong's of 1993, with the memory that Gavin Lowe added in 2017.)

use std::{collections::BTreeSet, fmt};

/// An operation on the register. Each finds a value there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write(u64),
}

impl Operation {
    /// The value of the register after the operation has found this one.
    fn apply(self, found: u64) -> u64 {
        match self {
            Self::Read => found,
            Self::Write(value) => value,
        }
    }
}

/// The operations of all clients.
#[derive(Debug, Default)]
pub(crate) struct History {
    calls: Vec<Call>,
    /// The number of calls and returns so far, which is the time.
    now: usize,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    /// The number of the client.
    client: u64,
    operation: Operation,
    called: usize,
    /// When it returned, and the value that it had found, if that is known. It may have happened
    /// without returning.
    returned: Option<(usize, Option<u64>)>,
}

/// The most operations.
const MOST: usize = u128::BITS as usize;

impl History {
    /// A client calls an operation. Returns the number of the call. All moments are different.
    pub(crate) fn call(&mut self, client: u64, operation: Operation) -> usize {
        self.now += 1;
        self.calls.push(Call {
            client,
            operation,
            called: self.now,
            returned: None,
        });
        self.calls.len() - 1
    }

    /// An operation has returned, and has told what it has found, or has not.
    ///
    /// # Errors
    /// If no order of the operations explains it.
    pub(crate) fn returned(&mut self, call: usize, found: Option<u64>) -> Result<(), String> {
        self.now += 1;
        self.calls[call].returned = Some((self.now, found));
        match is_linearizable(&self.calls) {
            true => Ok(()),
            false => Err(format!("no order explains that {}", self.calls[call])),
        }
    }

    /// The number of operations that were called, and of those that have returned.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let returned = self.calls.iter().filter(|call| call.returned.is_some());
        (self.calls.len(), returned.count())
    }
}

/// Whether there is an order of these operations on one register.
fn is_linearizable(calls: &[Call]) -> bool {
    // With each of the others, there would be twice as many sets of operations to try.
    let calls: Vec<_> = calls.iter().filter(|call| shows(call, calls)).collect();
    assert!(calls.len() <= MOST, "too many operations");
    let returned = bits(&calls, |call| call.returned.is_some());
    // The operations that have taken effect so far, as a set of bits, and the register after them.
    let mut open = vec![(0u128, 0u64)];
    let mut known = BTreeSet::new();
    while let Some((happened, value)) = open.pop() {
        if returned & !happened == 0 {
            return true;
        }
        if !known.insert((happened, value)) {
            continue;
        }
        let left = |n: &usize| happened >> n & 1 == 0;
        // An operation that was called after another one returned comes after it.
        let end = |n: usize| calls[n].returned.map_or(usize::MAX, |(at, _)| at);
        let bound = (0..calls.len()).filter(left).map(end).min();
        for n in (0..calls.len()).filter(left) {
            let call = &calls[n];
            let found = call.returned.and_then(|(_, found)| found);
            let fits = found.is_none_or(|found| found == value);
            if fits && bound.is_none_or(|bound| call.called < bound) {
                open.push((happened | 1 << n, call.operation.apply(value)));
            }
        }
    }
    false
}

/// Whether it matters to the other operations that this one happened. One that has not returned may
/// just as well not have happened, if no operation has found the value that it leaves behind.
fn shows(call: &Call, all: &[Call]) -> bool {
    let value = match call.operation {
        _ if call.returned.is_some() => return true,
        Operation::Read => return false,
        Operation::Write(value) => value,
    };
    let found = |other: &Call| other.returned.and_then(|(_, found)| found);
    all.iter().any(|other| found(other) == Some(value))
}

fn bits(calls: &[&Call], holds: impl Fn(&Call) -> bool) -> u128 {
    let numbered = calls.iter().enumerate();
    let held = numbered.filter(|(_, call)| holds(call));
    held.fold(0, |bits, (n, _)| bits | 1 << n)
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{} ", self.client)?;
        match self.operation {
            Operation::Read => write!(f, "x?")?,
            Operation::Write(value) => write!(f, "x={value}")?,
        }
        match self.returned {
            Some((_, Some(found))) => write!(f, " found {found}"),
            Some((_, None)) | None => Ok(()),
        }
    }
}
