//! A lock. A thread that waits for it is blocked, and the executions in which it waits forever for
//! a lock that another thread has released are not counted as complete.

use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::Ordering,
};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::atomic::Word;
use crate::graph::Op;

/// A mutual exclusion lock, which is never poisoned.
#[derive(Debug)]
pub struct Mutex<T: ?Sized> {
    word: Word,
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
            .access(name, op, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Waits for the lock.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.relock();
        Ok(MutexGuard(self))
    }

    /// Waits for the lock without making a guard.
    #[track_caller]
    pub(super) fn relock(&self) {
        self.take("lock", true);
    }

    #[track_caller]
    pub(super) fn unlock(&self) {
        self.word.store("unlock", 0, Ordering::Release);
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.take("try_lock", false) {
            0 => Ok(MutexGuard(self)),
            _ => Err(TryLockError::WouldBlock),
        }
    }
}

/// Holds a lock.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized>(&'a Mutex<T>);

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.0
    }
}

only_guard! { MutexGuard }

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.unlock();
    }
}
