//! The history of the clients' operations and their results, with a check that one register for
//! each key explains them.
//!
//! A history is linearizable if each operation can be given a moment between its call and its
//! return at which it happened all at once. (Maurice Herlihy and Jeannette Wing, 1990. The search
//! is Jeannette Wing's and Chun Gong's of 1993, with the memory that Gavin Lowe added in 2017.)

#![allow(dead_code, reason = "no example uses everything")]

use std::{collections::BTreeSet, fmt};

/// An operation on the register of a key. Each finds a value there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write(u64),
    /// Writes the second value if the register has the first one.
    Swap(u64, u64),
}

impl Operation {
    /// The value of the register after the operation has found this one.
    pub(crate) fn apply(self, found: u64) -> u64 {
        match self {
            Self::Read => found,
            Self::Write(value) => value,
            Self::Swap(expected, value) if found == expected => value,
            Self::Swap(..) => found,
        }
    }
}

/// The operations of clients, which are known by their names `C`.
#[derive(Debug)]
pub(crate) struct History<C> {
    calls: Vec<Call<C>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<C> {
    pub(crate) client: C,
    pub(crate) key: u64,
    pub(crate) operation: Operation,
    pub(crate) called: usize,
    /// When it returned, and the value that it had found, if that is known. It may have happened
    /// without returning.
    pub(crate) returned: Option<(usize, Option<u64>)>,
}

/// The name of the property.
pub(crate) const LINEARIZABILITY: &str = "linearizability";

/// The most operations on a key.
const MOST: usize = u128::BITS as usize;

impl<C> Default for History<C> {
    fn default() -> Self {
        Self { calls: Vec::new() }
    }
}

impl<C: Copy + fmt::Display> History<C> {
    /// A client calls an operation. Returns the number of the call. All moments are different.
    pub(crate) fn call(&mut self, now: usize, client: C, key: u64, operation: Operation) -> usize {
        self.calls.push(Call {
            client,
            key,
            operation,
            called: now,
            returned: None,
        });
        self.calls.len() - 1
    }

    /// An operation has returned, and has told what it has found, or has not.
    ///
    /// # Errors
    /// If no order of the operations explains it.
    pub(crate) fn returned(
        &mut self,
        now: usize,
        call: usize,
        found: Option<u64>,
    ) -> Result<(), String> {
        self.calls[call].returned = Some((now, found));
        let call = self.calls[call];
        let of_key = self.calls.iter().filter(|other| other.key == call.key);
        match is_linearizable(&of_key.copied().collect::<Vec<_>>()) {
            true => Ok(()),
            false => Err(format!("no order explains that {call}")),
        }
    }

    pub(crate) fn calls(&self) -> &[Call<C>] {
        &self.calls
    }

    /// The number of operations that have returned.
    pub(crate) fn len(&self) -> usize {
        let returned = self.calls.iter().filter(|call| call.returned.is_some());
        returned.count()
    }
}

/// Whether there is an order of these operations on one register.
fn is_linearizable<C>(calls: &[Call<C>]) -> bool {
    // With each of the others, there would be twice as many sets of operations to try.
    let calls: Vec<_> = calls.iter().filter(|call| shows(call, calls)).collect();
    assert!(calls.len() <= MOST, "too many operations on one key");
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
fn shows<C>(call: &Call<C>, all: &[Call<C>]) -> bool {
    let value = match call.operation {
        _ if call.returned.is_some() => return true,
        Operation::Read => return false,
        Operation::Write(value) | Operation::Swap(_, value) => value,
    };
    all.iter().any(|other| {
        let found = other.returned.and_then(|(_, found)| found);
        found == Some(value) || matches!(other.operation, Operation::Swap(old, _) if old == value)
    })
}

fn bits<C>(calls: &[&Call<C>], holds: impl Fn(&Call<C>) -> bool) -> u128 {
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

impl<C: fmt::Display> fmt::Display for Call<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.client, Shown(self.key, self.operation))?;
        match self.returned {
            Some((_, Some(found))) => write!(f, " found {found}"),
            Some((_, None)) | None => Ok(()),
        }
    }
}
