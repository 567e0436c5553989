//! A lock for many readers or one writer.

use core::{cell::UnsafeCell, sync::atomic::Ordering};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::{atomic::OwnedWord, poison::Poison};
use crate::run;

/// The value of the word while a writer holds the lock. Below are readers.
const WRITER: u64 = 1 << 32;
/// A writer that waits, if those come first.
const WAITING: u64 = 1 << 40;

/// A reader-writer lock, which prefers nobody, unless
/// [`Builder::writers_first`](crate::model::Builder::writers_first).
#[derive(Debug)]
pub struct RwLock<T: ?Sized> {
    word: OwnedWord,
    poison: Poison,
    value: UnsafeCell<T>,
}

// SAFETY: only the holders of the lock use the value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as for `Send`, and several readers may hold it.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

fn one_more(value: u64, _: [u64; 2]) -> Option<u64> {
    (value < WRITER).then_some(value + 1)
}

/// Takes the lock for a writer that has announced that it waits, or has not.
fn alone(value: u64, [announced, _]: [u64; 2]) -> Option<u64> {
    (value % WAITING == 0).then(|| value - announced + WRITER)
}

fn alone_or_announced(value: u64, none: [u64; 2]) -> Option<u64> {
    alone(value, none).or(Some(value + WAITING))
}

lock! { RwLock }

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer holds the lock.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.word.get().wait("read", 0, one_more);
        self.poison.result(RwLockReadGuard { lock: self })
    }

    /// Takes the lock for reading, if no writer holds it.
    ///
    /// # Errors
    /// If one holds it, or it is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let before = self
            .word
            .get()
            .update("try_read", 0, Ordering::Acquire, one_more);
        if before >= WRITER {
            return Err(TryLockError::WouldBlock);
        }
        Ok(self.poison.result(RwLockReadGuard { lock: self })?)
    }

    /// Waits until nobody holds the lock.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        if !run::limits().writers_first {
            self.word.get().wait("write", 0, alone);
            return self.poison.result(self.writer());
        }
        let (name, order) = ("write", Ordering::Acquire);
        let before = self.word.get().update(name, 0, order, alone_or_announced);
        if before % WAITING != 0 {
            self.word.get().wait("write", WAITING, alone);
        }
        self.poison.result(self.writer())
    }

    fn writer(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard {
            lock: self,
            panicked_before: run::panics(),
        }
    }

    /// Takes the lock for writing, if nobody holds it.
    ///
    /// # Errors
    /// If somebody holds it, or it is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let before = self
            .word
            .get()
            .update("try_write", 0, Ordering::Acquire, alone);
        match before % WAITING {
            0 => Ok(self.poison.result(self.writer())?),
            _ => Err(TryLockError::WouldBlock),
        }
    }
}

/// Holds a lock for reading.
#[derive(Debug)]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

/// Holds a lock for writing.
#[derive(Debug)]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    panicked_before: bool,
}

joint_facade::guard! { RwLockReadGuard }
joint_facade::guard! { mut RwLockWriteGuard }

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.lock
            .word
            .get()
            .add("unlock (read)", u64::MAX, Ordering::Release);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        let (name, order) = ("unlock (write)", Ordering::Release);
        self.lock.poison.released(self.panicked_before);
        if run::limits().writers_first {
            self.lock.word.get().add(name, WRITER.wrapping_neg(), order);
        } else {
            self.lock.word.get().store(name, 0, order);
        }
    }
}
