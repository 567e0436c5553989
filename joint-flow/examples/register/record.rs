//! The record of what the clients have called and found, which they share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::history::{History, Operation};

/// The history of the register. A clone is another handle to the same record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    history: History,
    /// The number of calls and returns so far. It is the time of the history.
    now: usize,
}

impl Record {
    /// Notes that a client calls an operation, and returns the number of the call.
    pub(crate) fn called(&self, client: u64, operation: Operation) -> usize {
        let mut state = self.lock();
        state.now += 1;
        let now = state.now;
        state.history.call(now, client, operation)
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
            panic!("linearizability: {text}");
        }
    }

    /// Returns how many operations were called, and how many of them have returned.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.lock().history.counts()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
