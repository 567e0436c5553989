//! A lock. A thread that waits for it is blocked, and the executions in which it waits for ever for
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
pub struct Mutex<T> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: only the holder of the lock uses the value.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// Creates a lock.
    pub fn new(value: T) -> Self {
        Self {
            word: Word::new(0),
            value: UnsafeCell::new(value),
        }
    }

    fn take(&self, awaits: bool) -> u64 {
        let op = Op::CompareExchange {
            current: 0,
            new: 1,
            awaits,
        };
        self.word.access(op, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// Never.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.take(true);
        Ok(MutexGuard(self))
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.take(false) {
            0 => Ok(MutexGuard(self)),
            _ => Err(TryLockError::WouldBlock),
        }
    }
}

/// The possession of a lock.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(&'a Mutex<T>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.0.word.store(0, Ordering::Release);
    }
}
