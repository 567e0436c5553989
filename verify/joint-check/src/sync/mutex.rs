//! A lock. A thread that waits for it is blocked, and the executions in which it waits forever for
//! a lock that another thread has released are not counted as complete.

use core::{cell::UnsafeCell, sync::atomic::Ordering};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::{atomic::OwnedWord, poison::Poison};
use crate::{graph::Op, run};

/// A mutual exclusion lock.
#[derive(Debug)]
pub struct Mutex<T: ?Sized> {
    word: OwnedWord,
    poison: Poison,
    value: UnsafeCell<T>,
}

// SAFETY: only the holder of the lock uses the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

lock! { Mutex }

impl<T: ?Sized> Mutex<T> {
    #[track_caller]
    fn take(&self, name: &'static str, awaits: bool) -> u64 {
        let op = Op::exchange(0, 1, awaits);
        self.word
            .get()
            .access(name, op, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// If it is poisoned. The error has the guard.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.relock();
        self.poison.result(self.guard())
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            lock: self,
            panicked_before: run::panics(),
        }
    }

    /// Waits for the lock without making a guard.
    #[track_caller]
    pub(super) fn relock(&self) {
        self.take("lock", true);
    }

    #[track_caller]
    pub(super) fn unlock(&self) {
        self.word.get().store("unlock", 0, Ordering::Release);
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not, or is poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.take("try_lock", false) {
            0 => Ok(self.poison.result(self.guard())?),
            _ => Err(TryLockError::WouldBlock),
        }
    }
}

/// Holds a lock.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    panicked_before: bool,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.lock
    }

    /// Returns the guard of a lock that was given up and taken again.
    pub(super) fn retaken(self) -> LockResult<Self> {
        self.lock.poison.result(self)
    }
}

joint_facade::guard! { mut MutexGuard }

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.lock.poison.released(self.panicked_before);
        self.lock.unlock();
    }
}
