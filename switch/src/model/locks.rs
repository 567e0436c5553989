//! loom's mutex and parked threads, as the observer sees them.

use core::{
    ops::{Deref, DerefMut},
    sync::atomic::Ordering,
};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::AtomicUsize;
use super::observe::{Act, Made, Object, ended};

/// loom's mutex.
#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>, Object);

impl<T> Mutex<T> {
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value), Object::new(Made::Mutex))
    }

    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.1.begins(Act::Lock, Ordering::Acquire);
        let guard = self.0.lock().expect("loom poisons no locks");
        ended(());
        Ok(MutexGuard(guard, self.1))
    }

    #[allow(dead_code, reason = "every mutex offers the same operations")]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Ok(guard) = self.0.try_lock() else {
            return Err(TryLockError::WouldBlock);
        };
        self.1.begins(Act::Lock, Ordering::Acquire);
        ended(());
        Ok(MutexGuard(guard, self.1))
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// loom's guard.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(loom::sync::MutexGuard<'a, T>, Object);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.1.begins(Act::Unlock, Ordering::Release);
        ended(());
    }
}

/// A cell that is set once, with the happens-before edge that std promises: a thread that finds it
/// set sees everything before. Its setter holds a lock.
#[derive(Debug)]
pub struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_set: AtomicUsize,
}

impl<T> OnceLock<T> {
    #[track_caller]
    pub fn new() -> Self {
        Self {
            value: std::sync::OnceLock::new(),
            is_set: AtomicUsize::new(0),
        }
    }

    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        match self.is_set.load(Ordering::Acquire) {
            0 => None,
            _ => self.value.get(),
        }
    }

    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.is_set.store(1, Ordering::Release);
        Ok(())
    }
}

/// loom's handle of a thread.
#[derive(Clone, Debug)]
pub struct Thread(loom::thread::Thread);

impl Thread {
    pub fn id(&self) -> loom::thread::ThreadId {
        self.0.id()
    }

    #[track_caller]
    pub fn unpark(&self) {
        Object::NONE.begins(Act::Unpark(self.id()), Ordering::Release);
        self.0.unpark();
        ended(());
    }
}

pub fn current() -> Thread {
    Thread(loom::thread::current())
}

#[track_caller]
pub fn park() {
    Object::NONE.begins(Act::Park, Ordering::Acquire);
    loom::thread::park();
    ended(());
}

/// Parks with a time limit, by yielding once and returning, as a spurious wake-up may. A limit of
/// an hour or more never ends.
#[track_caller]
pub fn park_timeout(limit: core::time::Duration) {
    if limit.as_secs() >= 3600 {
        park();
    } else {
        Object::NONE.begins(Act::Park, Ordering::Acquire);
        loom::thread::yield_now();
        ended(());
    }
}
