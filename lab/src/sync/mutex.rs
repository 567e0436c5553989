//! loom's mutex, recorded.

use std::{
    ops::{Deref, DerefMut},
    panic::Location,
    sync::{LockResult, PoisonError},
};

use crate::{event::Step, recorder};

/// [`loom::sync::Mutex`].
#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>, u64);

impl<T> Mutex<T> {
    /// Makes a mutex that is not locked.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let place = recorder::made("Mutex", 0, Location::caller());
        Self(loom::sync::Mutex::new(value), place)
    }

    /// Names this mutex in pictures.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        recorder::name_place(self.1, name);
        self
    }

    /// Works as [`std::sync::Mutex::lock`].
    ///
    /// # Errors
    /// Returns an error if the mutex is poisoned.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        recorder::begins_plain(self.1, Step::Lock, Location::caller());
        let locked = self.0.lock();
        recorder::ended(0);
        let guard = |guard| MutexGuard {
            guard,
            place: self.1,
            locked_at: Location::caller(),
        };
        match locked {
            Ok(inner) => Ok(guard(inner)),
            Err(poisoned) => Err(PoisonError::new(guard(poisoned.into_inner()))),
        }
    }
}

/// [`loom::sync::MutexGuard`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    guard: loom::sync::MutexGuard<'a, T>,
    place: u64,
    locked_at: &'static Location<'static>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        recorder::now(self.place, Step::Unlock, self.locked_at);
    }
}
