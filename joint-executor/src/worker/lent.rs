//! The tasks that a worker's owner has taken from it, to run them itself
//! ([`hosted`](crate::hosted)).

use alloc::sync::Arc;
use core::cell::Cell;

use super::shared::{Runnable, Shared};
use crate::registry::Lane;

/// Keeps the executor's memory alive for a task that an owner has taken.
pub(crate) type Kept = Arc<Arc<Shared>>;

pub(crate) struct Lent {
    /// Cloned for each task that the owner has.
    kept: Kept,
    /// Cloned instead for each task that is pinned and in the registry, where the worker's end
    /// looks for it.
    lent: Kept,
    /// Whether a local task was ever spawned on this worker.
    has_had_local: Cell<bool>,
}

impl Lent {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            kept: Arc::new(shared.clone()),
            lent: Arc::new(shared.clone()),
            has_had_local: Cell::new(false),
        }
    }

    /// Returns what is kept with a task that the worker runs.
    #[inline]
    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Returns what the owner keeps with a task that it takes.
    #[inline]
    pub(crate) fn kept_with(&self, runnable: &Runnable) -> &Kept {
        match runnable.metadata().is_entered() && pinned_to(runnable).is_some() {
            true => &self.lent,
            false => &self.kept,
        }
    }

    /// The number of tasks that the owner has, and that are pinned and in the registry. They stay
    /// on the worker's thread, and while there is one, so does the worker.
    pub(crate) fn count(&self) -> usize {
        Arc::strong_count(&self.lent) - 1
    }

    /// Records that a local task is spawned on the worker.
    pub(crate) fn note_local(&self) {
        self.has_had_local.set(true);
    }

    /// Whether a local task may be alive on the worker of that index.
    pub(crate) fn may_have_local(&self, worker: usize) -> bool {
        let may_have = self.has_had_local.get() && self.kept.registry.pinned(worker) > 0;
        self.has_had_local.set(may_have);
        may_have
    }
}

/// The worker that a runnable is pinned to.
#[inline]
pub(crate) fn pinned_to(runnable: &Runnable) -> Option<usize> {
    match runnable.metadata().lane() {
        Lane::Pinned(worker) => Some(worker),
        Lane::Normal | Lane::High => None,
    }
}
