//! The replicated state machine: a register for each key, which is 0 at first.

use std::collections::BTreeMap;

use super::{
    bug::Bug,
    message::{Id, Request},
};

#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    values: BTreeMap<u64, u64>,
    /// The number of each client's last operation, and the value that it found (section 8).
    last: BTreeMap<Id, (u64, u64)>,
}

impl Registers {
    pub(crate) fn read(&self, key: u64) -> u64 {
        self.values.get(&key).copied().unwrap_or(0)
    }

    /// The result of a request that was applied before.
    pub(crate) fn result(&self, request: &Request) -> Option<u64> {
        let &(serial, found) = self.last.get(&request.client)?;
        (serial == request.serial).then_some(found)
    }

    /// Applies a request. If it has been applied before, because the client has repeated it, only
    /// its result is returned: none for a request that the client no longer waits for.
    pub(crate) fn apply(&mut self, request: &Request, bug: Option<Bug>) -> Option<u64> {
        let last = self.last.get(&request.client).map_or(0, |last| last.0);
        if request.serial <= last && bug != Some(Bug::ApplyTwice) {
            return self.result(request);
        }
        let found = self.read(request.key);
        self.values
            .insert(request.key, request.operation.apply(found));
        self.last.insert(request.client, (request.serial, found));
        Some(found)
    }
}
