//! Whether a thread has panicked while it held a lock.

use core::cell::Cell;
use std::sync::{LockResult, PoisonError};

use crate::run;

/// Set by a holder that panics. Only holders use it, so it needs no operation of the model.
#[derive(Debug, Default)]
pub(super) struct Poison(Cell<bool>);

impl Poison {
    pub(super) fn is_set(&self) -> bool {
        self.0.get()
    }

    pub(super) fn clear(&self) {
        self.0.set(false);
    }

    /// Sets it when a guard is dropped by a panic that has begun since the guard was made.
    pub(super) fn released(&self, panicked_before: bool) {
        let panics = !panicked_before && run::panics();
        self.0.set(self.0.get() || panics && run::limits().poisons);
    }

    pub(super) fn result<T>(&self, value: T) -> LockResult<T> {
        match self.is_set() {
            true => Err(PoisonError::new(value)),
            false => Ok(value),
        }
    }
}
