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

wrapper! {
    /// [`loom::sync::Mutex`], which is never poisoned.
    Mutex<T> of loom::sync
}
lock! { Mutex }

impl<T> Mutex<T> {
    /// Works as [`std::sync::Mutex::lock`].
    ///
    /// # Errors
    /// Never.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let source = Location::caller();
        recorder::begins_plain(self.1, Step::Lock, source);
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorder::ended(0);
        Ok(self.guard(guard, source))
    }

    /// Works as [`std::sync::Mutex::try_lock`].
    ///
    /// # Errors
    /// Returns an error if the mutex is locked.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Ok(guard) = self.0.try_lock() else {
            return Err(TryLockError::WouldBlock);
        };
        let source = Location::caller();
        recorder::now(self.1, Step::Lock, source);
        Ok(self.guard(guard, source))
    }

    fn guard<'a>(&self, guard: loom::sync::MutexGuard<'a, T>, source: Source) -> MutexGuard<'a, T> {
        MutexGuard {
            guard: Some(guard),
            place: self.1,
            locked_at: source,
        }
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

wrapper! {
    /// [`loom::sync::Condvar`].
    Condvar of loom::sync
}

impl Condvar {
    /// Works as [`std::sync::Condvar::wait`].
    ///
    /// # Errors
    /// Never.
    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let source = Location::caller();
        let inner = guard.guard.take().expect("the mutex is locked");
        recorder::now(guard.place, Step::Unlock, guard.locked_at);
        recorder::begins_plain(self.1, Step::Wait, source);
        let woken = self.0.wait(inner).unwrap_or_else(PoisonError::into_inner);
        recorder::ended(0);
        recorder::now(guard.place, Step::Lock, source);
        guard.guard = Some(woken);
        guard.locked_at = source;
        Ok(guard)
    }

    /// Works as [`std::sync::Condvar::wait_while`].
    ///
    /// # Errors
    /// Never.
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
    /// Never.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let guard = self.wait(guard).unwrap_or_else(PoisonError::into_inner);
        Ok((guard, WaitTimeoutResult(())))
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
