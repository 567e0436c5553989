//! loom's mutex and parked threads, as the observer sees them, its thread-locals, and the time.

use core::{
    cell::Cell,
    ops::{Deref, DerefMut},
    sync::atomic::Ordering,
    time::Duration,
};
use joint_lab::record::{lane_of, stop_if_failed};
use std::{
    sync::{LockResult, TryLockError, TryLockResult},
    time::Instant,
};

use loom::sync::atomic::AtomicUsize as Flag;

use super::AtomicUsize;
use super::observe::{Object, Step, ended};

/// loom's mutex. The number is 1 while it is held by a thread that has tried. Without it, loom
/// blocks a thread that is about to try, until the mutex is free.
#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>, Object, Flag);

impl<T> Mutex<T> {
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(
            loom::sync::Mutex::new(value),
            Object::new("Mutex", 0),
            Flag::new(0),
        )
    }

    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(self.acquire(None))
    }

    #[track_caller]
    fn acquire<'a>(&'a self, taken: Option<Taken<'a>>) -> MutexGuard<'a, T> {
        self.1.begins(Step::Lock, Ordering::Acquire);
        let guard = self.0.lock().expect("loom poisons no locks");
        ended(());
        MutexGuard(guard, self.1, taken)
    }

    #[allow(dead_code, reason = "every mutex offers the same operations")]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.2.swap(1, Ordering::Relaxed) {
            0 => Ok(self.acquire(Some(Taken(&self.2)))),
            _ => Err(TryLockError::WouldBlock),
        }
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
#[allow(dead_code, reason = "one part counts by its drop")]
pub struct MutexGuard<'a, T>(loom::sync::MutexGuard<'a, T>, Object, Option<Taken<'a>>);

/// Dropped after loom's guard, so that a thread that tries never waits.
#[derive(Debug)]
struct Taken<'a>(&'a Flag);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // A failed model that unwinds must run no more operations. An exchange, because loom may
        // order a store before an exchange that came earlier.
        let is_failing = std::thread::panicking();
        _ = (!is_failing).then(|| self.0.swap(0, Ordering::Relaxed));
    }
}

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
        self.1.begins(Step::Unlock, Ordering::Release);
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

/// loom's thread-local. The destructors of a failed model may use it, which loom does not allow.
#[derive(Debug)]
pub struct LocalKey<T: 'static>(#[doc(hidden)] pub &'static loom::thread::LocalKey<T>);

impl<T: 'static> LocalKey<T> {
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        stop_if_failed();
        self.0.with(f)
    }

    pub fn try_with<R>(
        &'static self,
        f: impl FnOnce(&T) -> R,
    ) -> Result<R, loom::thread::AccessError> {
        stop_if_failed();
        self.0.try_with(f)
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
        Object::NONE.begins(Step::Unpark(lane_of(self.id())), Ordering::Release);
        self.0.unpark();
        ended(());
    }
}

pub fn current() -> Thread {
    Thread(loom::thread::current())
}

#[track_caller]
pub fn park() {
    Object::NONE.begins(Step::Park, Ordering::Acquire);
    loom::thread::park();
    ended(());
}

loom::thread_local! {
    /// For how long this thread has parked with a limit.
    static PASSED: Cell<Duration> = Cell::new(Duration::ZERO);
}

/// Returns the time of this thread. It passes only while the thread parks with a limit, so a run
/// does the same each time, and threads share no clock of which the model would not know.
pub fn now() -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *START.get_or_init(Instant::now) + PASSED.try_with(Cell::get).unwrap_or_default()
}

/// Parks with a time limit, by yielding once. The limit has passed then. A limit of an hour or more
/// never ends.
#[track_caller]
pub fn park_timeout(limit: Duration) {
    if limit.as_secs() >= 3600 {
        park();
    } else {
        Object::NONE.begins(Step::Park, Ordering::Acquire);
        loom::thread::yield_now();
        let _ended = PASSED.try_with(|passed| passed.set(passed.get() + limit));
        ended(());
    }
}
