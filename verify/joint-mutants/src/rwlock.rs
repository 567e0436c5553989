//! loom's lock for many readers or one writer, which can be left out.

use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use loom::{
    cell::{ConstPtr, MutPtr, UnsafeCell},
    sync as model,
};

use crate::wake::{is_deleted, whatever};

/// loom's reader-writer lock, whose value is a cell of loom's, so that a lock that is deleted is a
/// race.
#[derive(Debug)]
pub struct RwLock<T> {
    lock: model::RwLock<()>,
    value: UnsafeCell<T>,
}

// SAFETY: only the holders of the lock use the value, or the model fails.
unsafe impl<T: Send> Send for RwLock<T> {}
// SAFETY: as for `Send`, and several readers may hold it.
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

/// Holds a lock for reading, unless that is deleted.
#[derive(Debug)]
pub struct RwLockReadGuard<'a, T> {
    value: ConstPtr<T>,
    _held: Option<model::RwLockReadGuard<'a, ()>>,
}

/// Holds a lock for writing, unless that is deleted.
#[derive(Debug)]
pub struct RwLockWriteGuard<'a, T> {
    value: MutPtr<T>,
    _held: Option<model::RwLockWriteGuard<'a, ()>>,
}

impl<T> RwLock<T> {
    /// Creates a lock.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self {
            lock: model::RwLock::new(()),
            value: UnsafeCell::new(value),
        }
    }

    #[track_caller]
    fn reader<'a>(&self, _held: Option<model::RwLockReadGuard<'a, ()>>) -> RwLockReadGuard<'a, T> {
        let value = self.value.get();
        RwLockReadGuard { value, _held }
    }

    #[track_caller]
    fn writer<'a>(
        &self,
        _held: Option<model::RwLockWriteGuard<'a, ()>>,
    ) -> RwLockWriteGuard<'a, T> {
        let value = self.value.get_mut();
        RwLockWriteGuard { value, _held }
    }

    /// Waits until no writer holds the lock.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let held = (!is_deleted("read")).then(|| whatever(self.lock.read()));
        Ok(self.reader(held))
    }

    /// Takes the lock for reading, if no writer holds it.
    ///
    /// # Errors
    /// If one holds it.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let held = self.lock.try_read();
        let held = held.map_err(|_| TryLockError::WouldBlock)?;
        Ok(self.reader(Some(held)))
    }

    /// Waits until nobody holds the lock.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let held = (!is_deleted("write")).then(|| whatever(self.lock.write()));
        Ok(self.writer(held))
    }

    /// Takes the lock for writing, if nobody holds it.
    ///
    /// # Errors
    /// If somebody holds it.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let held = self.lock.try_write();
        let held = held.map_err(|_| TryLockError::WouldBlock)?;
        Ok(self.writer(Some(held)))
    }

    /// Returns the value through an exclusive reference.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        // SAFETY: the reference to the lock is exclusive.
        Ok(self.value.with_mut(|value| unsafe { &mut *value }))
    }

    /// Returns the value.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held, or the model has failed.
        unsafe { self.value.deref() }
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held, or the model has failed.
        unsafe { self.value.deref() }
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, or the model has failed.
        unsafe { self.value.deref() }
    }
}
