//! The record of what the clients have called and found, which they share.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::history::{History, LINEARIZABILITY, Operation};

/// The history of the register. A clone is another handle to the same record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    history: History<Name>,
    /// The number of calls and returns so far. It is the time of the history.
    now: usize,
}

/// The number of a client.
#[derive(Clone, Copy, Debug)]
struct Name(u64);

/// There is one register.
const KEY: u64 = 0;

impl Record {
    /// Notes that a client calls an operation, and returns the number of the call.
    pub(crate) fn called(&self, client: u64, operation: Operation) -> usize {
        let mut state = self.lock();
        state.now += 1;
        let now = state.now;
        state.history.call(now, Name(client), KEY, operation)
    }

    /// Notes that an operation has returned what it has found, if it tells.
    ///
    /// # Panics
    /// If no order of the operations explains it.
    pub(crate) fn returned(&self, call: usize, found: Option<u64>) {
        let mut state = self.lock();
        state.now += 1;
        let now = state.now;
        if let Err(text) = state.history.returned(now, call, found) {
            panic!("{LINEARIZABILITY}: {text}");
        }
    }

    /// Returns how many operations were called, and how many of them have returned.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.history.calls().len(), state.history.len())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}
