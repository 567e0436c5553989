//! loom's mutex and condition variable, recorded.

use std::{
    ops::{Deref, DerefMut},
    panic::Location,
    sync::{LockResult, PoisonError, TryLockError, TryLockResult},
    time::Duration,
};

use crate::{
    event::{Source, Step},
    recorder,
};

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
        let source = Location::caller();
        recorder::begins_plain(self.1, Step::Lock, source);
        let locked = self.0.lock();
        recorder::ended(0);
        match locked {
            Ok(guard) => Ok(self.guard(guard, source)),
            Err(poisoned) => Err(PoisonError::new(self.guard(poisoned.into_inner(), source))),
        }
    }

    /// Works as [`std::sync::Mutex::try_lock`].
    ///
    /// # Errors
    /// Returns an error if the mutex is locked or poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let source = Location::caller();
        let locked = |guard| {
            recorder::now(self.1, Step::Lock, source);
            self.guard(guard, source)
        };
        match self.0.try_lock() {
            Ok(guard) => Ok(locked(guard)),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(PoisonError::new(locked(poisoned.into_inner())).into())
            }
        }
    }

    /// Works as [`std::sync::Mutex::get_mut`].
    ///
    /// # Errors
    /// Returns an error if the mutex is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    /// Works as [`std::sync::Mutex::into_inner`].
    ///
    /// # Errors
    /// Returns an error if the mutex is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }

    fn guard<'a>(&self, guard: loom::sync::MutexGuard<'a, T>, source: Source) -> MutexGuard<'a, T> {
        MutexGuard {
            guard: Some(guard),
            place: self.1,
            locked_at: source,
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// [`loom::sync::MutexGuard`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    /// None while it waits for a notification.
    guard: Option<loom::sync::MutexGuard<'a, T>>,
    place: u64,
    /// Where it was locked. The place of the unlock cannot be known.
    locked_at: Source,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("the mutex is locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("the mutex is locked")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.guard.is_some() {
            recorder::now(self.place, Step::Unlock, self.locked_at);
        }
    }
}

/// How a wait with a limit ended.
#[derive(Clone, Copy, Debug)]
pub struct WaitTimeoutResult(());

impl WaitTimeoutResult {
    /// Returns false, because a model has no time.
    pub fn timed_out(&self) -> bool {
        false
    }
}

/// [`loom::sync::Condvar`].
#[derive(Debug)]
pub struct Condvar(loom::sync::Condvar, u64);

impl Condvar {
    /// Makes a condition variable.
    #[track_caller]
    pub fn new() -> Self {
        let place = recorder::made("Condvar", 0, Location::caller());
        Self(loom::sync::Condvar::new(), place)
    }

    /// Names this condition variable in pictures.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        recorder::name_place(self.1, name);
        self
    }

    /// Works as [`std::sync::Condvar::wait`].
    ///
    /// # Errors
    /// Returns an error if the mutex is poisoned.
    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let source = Location::caller();
        let inner = guard.guard.take().expect("the mutex is locked");
        recorder::now(guard.place, Step::Unlock, guard.locked_at);
        recorder::begins_plain(self.1, Step::Wait, source);
        let woken = self.0.wait(inner);
        recorder::ended(0);
        recorder::now(guard.place, Step::Lock, source);
        let locked = |inner| MutexGuard {
            guard: Some(inner),
            place: guard.place,
            locked_at: source,
        };
        match woken {
            Ok(inner) => Ok(locked(inner)),
            Err(poisoned) => Err(PoisonError::new(locked(poisoned.into_inner()))),
        }
    }

    /// Works as [`std::sync::Condvar::wait_while`].
    ///
    /// # Errors
    /// Returns an error if the mutex is poisoned.
    #[track_caller]
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Works as [`std::sync::Condvar::wait_timeout`], except that the time is never over.
    ///
    /// # Errors
    /// Returns an error if the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let end = WaitTimeoutResult(());
        self.wait(guard)
            .map(|guard| (guard, end))
            .map_err(|poisoned| PoisonError::new((poisoned.into_inner(), end)))
    }

    /// Works as [`std::sync::Condvar::notify_one`].
    #[track_caller]
    pub fn notify_one(&self) {
        recorder::begins_plain(self.1, Step::Notify { all: false }, Location::caller());
        self.0.notify_one();
        recorder::ended(0);
    }

    /// Works as [`std::sync::Condvar::notify_all`].
    #[track_caller]
    pub fn notify_all(&self) {
        recorder::begins_plain(self.1, Step::Notify { all: true }, Location::caller());
        self.0.notify_all();
        recorder::ended(0);
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
