//! The clients' operations and their results, and a check that one register for each key explains
//! them.
//!
//! A history is linearizable if each operation can be given a moment between its call and its
//! return at which it happened all at once. (Maurice Herlihy and Jeannette Wing, 1990. The search
//! is Jeannette Wing's and Chun Gong's of 1993, with the memory that Gavin Lowe added in 2017.)

use std::{collections::BTreeSet, fmt};

use crate::protocol::message::{Id, Operation};

#[derive(Debug, Default)]
pub(crate) struct History {
    calls: Vec<Call>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    client: Id,
    key: u64,
    operation: Operation,
    called: usize,
    /// When it returned, and the value that it had found. It may have happened without returning.
    returned: Option<(usize, u64)>,
}

/// The name of the property.
pub(crate) const LINEARIZABILITY: &str = "linearizability";

/// The most operations on a key.
const MOST: usize = u128::BITS as usize;

impl History {
    /// A client calls an operation. Returns the number of the call. All moments are different.
    pub(crate) fn call(&mut self, now: usize, client: Id, key: u64, operation: Operation) -> usize {
        self.calls.push(Call {
            client,
            key,
            operation,
            called: now,
            returned: None,
        });
        self.calls.len() - 1
    }

    /// An operation has returned.
    ///
    /// # Errors
    /// If no order of the operations explains what it has found.
    pub(crate) fn returned(&mut self, now: usize, call: usize, found: u64) -> Result<(), String> {
        self.calls[call].returned = Some((now, found));
        let call = self.calls[call];
        let of_key = self.calls.iter().filter(|other| other.key == call.key);
        match is_linearizable(&of_key.copied().collect::<Vec<_>>()) {
            true => Ok(()),
            false => Err(format!("no order explains that {call}")),
        }
    }

    /// The number of operations that have returned.
    pub(crate) fn len(&self) -> usize {
        let returned = self.calls.iter().filter(|call| call.returned.is_some());
        returned.count()
    }
}

/// Whether there is an order of these operations on one register.
fn is_linearizable(calls: &[Call]) -> bool {
    assert!(calls.len() <= MOST, "too many operations on one key");
    let returned = bits(calls, |call| call.returned.is_some());
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
            let fits = call.returned.is_none_or(|(_, found)| found == value);
            if fits && bound.is_none_or(|bound| call.called < bound) {
                open.push((happened | 1 << n, call.operation.apply(value)));
            }
        }
    }
    false
}

fn bits(calls: &[Call], holds: impl Fn(&Call) -> bool) -> u128 {
    let numbered = calls.iter().enumerate();
    let held = numbered.filter(|(_, call)| holds(call));
    held.fold(0, |bits, (n, _)| bits | 1 << n)
}

/// Shows an operation on the register of a key.
pub(crate) struct Shown(pub(crate) u64, pub(crate) Operation);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ["x", "y", "z"][self.0 as usize % 3];
        match self.1 {
            Operation::Read => write!(f, "{name}?"),
            Operation::Write(value) => write!(f, "{name}={value}"),
            Operation::Swap(expected, value) => write!(f, "{name}:{expected}={value}"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.client, Shown(self.key, self.operation))?;
        match self.returned {
            Some((_, found)) => write!(f, " found {found}"),
            None => Ok(()),
        }
    }
}
