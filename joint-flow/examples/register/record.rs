//! The record of what the clients have called and found, which they share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::history::{History, Operation};

/// The history of the register. A clone is another handle to the same record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<History>>);

impl Record {
    /// Notes that a client calls an operation, and returns the number of the call.
    pub(crate) fn called(&self, client: u64, operation: Operation) -> usize {
        self.lock().call(client, operation)
    }

    /// Notes that an operation has returned what it has found, if it tells.
    ///
    /// # Panics
    /// If no order of the operations explains it.
    pub(crate) fn returned(&self, call: usize, found: Option<u64>) {
        if let Err(text) = self.lock().returned(call, found) {
            panic!("linearizability: {text}");
        }
    }

    /// Returns how many operations were called, and how many of them have returned.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.lock().counts()
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
