//! One worker's queues, for models with tasks of their own.

use alloc::vec::Vec;

use crate::{deques, fences::Fences};

/// The owner's side.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Deques<T>(deques::Deques<T>);

/// A thief's side.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Stealer<T>(deques::Stealer<T>);

#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
impl<T> Deques<T> {
    /// There is room for two of each kind at first.
    pub fn new() -> Self {
        Self(deques::Deques::with_least(2, Fences::ordinary()))
    }

    pub fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.stealer())
    }

    pub fn push_spawned(&self, task: T) {
        let pushed = self.0.push_spawned(task, usize::MAX);
        pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
    }

    pub fn push_woken(&self, task: T) {
        let pushed = self.0.push_woken(task, usize::MAX);
        pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
    }

    pub fn push_high(&self, task: T) {
        self.0.push_high(task);
    }

    pub fn pop_newest_spawned(&self) -> Option<T> {
        self.0.pop_newest_spawned()
    }

    pub fn pop_oldest_spawned(&self) -> Option<T> {
        self.0.pop_oldest_spawned()
    }

    pub fn pop_woken(&self) -> Option<T> {
        self.0.pop_woken()
    }

    pub fn pop_high(&self) -> Option<T> {
        self.0.pop_high()
    }

    pub fn steal_and_pop(&self, from: &Stealer<T>, most: usize) -> Option<T> {
        self.0.steal_and_pop(&from.0, most).map(|(task, _)| task)
    }
}

#[allow(missing_docs, reason = "only models use it")]
impl<T> Stealer<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes up to half of each kind.
    pub fn steal(&self, most: usize) -> Vec<T> {
        let mut tasks = Vec::new();
        self.0.steal(most, &mut tasks);
        tasks
    }
}
