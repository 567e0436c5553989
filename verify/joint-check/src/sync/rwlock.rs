//! A lock for many readers or one writer.

use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::Ordering,
};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::atomic::Word;

/// The value of the word while a writer holds the lock. Other values count readers.
const WRITER: u64 = 1 << 32;

/// A reader-writer lock, which is never poisoned and prefers nobody.
#[derive(Debug)]
pub struct RwLock<T: ?Sized> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: only the holders of the lock use the value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as for `Send`, and several readers may hold it.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

fn one_more(value: u64, _: [u64; 2]) -> Option<u64> {
    (value != WRITER).then_some(value + 1)
}

fn alone(value: u64, _: [u64; 2]) -> Option<u64> {
    (value == 0).then_some(WRITER)
}

lock! { RwLock }

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer holds the lock.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.word.wait("read", 0, one_more);
        Ok(RwLockReadGuard(self))
    }

    /// Takes the lock for reading, if no writer holds it.
    ///
    /// # Errors
    /// If one holds it.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let before = self.word.update("try_read", 0, Ordering::Acquire, one_more);
        if before == WRITER {
            return Err(TryLockError::WouldBlock);
        }
        Ok(RwLockReadGuard(self))
    }

    /// Waits until nobody holds the lock.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.word.wait("write", 0, alone);
        Ok(RwLockWriteGuard(self))
    }

    /// Takes the lock for writing, if nobody holds it.
    ///
    /// # Errors
    /// If somebody holds it.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.word.update("try_write", 0, Ordering::Acquire, alone) {
            0 => Ok(RwLockWriteGuard(self)),
            _ => Err(TryLockError::WouldBlock),
        }
    }
}

/// Holds a lock for reading.
#[derive(Debug)]
pub struct RwLockReadGuard<'a, T: ?Sized>(&'a RwLock<T>);

/// Holds a lock for writing.
#[derive(Debug)]
pub struct RwLockWriteGuard<'a, T: ?Sized>(&'a RwLock<T>);

guard! { RwLockReadGuard }
only_guard! { RwLockWriteGuard }

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0
            .word
            .add("unlock (read)", u64::MAX, Ordering::Release);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.word.store("unlock (write)", 0, Ordering::Release);
    }
}
