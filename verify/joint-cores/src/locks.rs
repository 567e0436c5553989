//! Locks and condition variables.
//!
//! A mutex is a word: 0 is free, 1 is held, and 2 is held while others sleep. How long a thread
//! waits before it sleeps is one of the costs ([`Waits`]). The kernel's part of parking_lot, its
//! table of queues, costs nothing.

use core::{cell::UnsafeCell, sync::atomic::Ordering::SeqCst, time::Duration};
use std::sync::{LockResult, TryLockError, TryLockResult};

use crate::{
    Waits,
    kernel::{sleep_on, wake, yield_now},
    machine::{costs, spin_loop},
    sync::atomic::AtomicU32,
};

/// The lock's own word.
#[derive(Debug, Default)]
struct Word(AtomicU32);

impl Word {
    const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, 1, SeqCst, SeqCst).is_ok()
    }

    fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    #[cold]
    fn lock_slow(&self) {
        let mut state = self.wait();
        if state == 0 && self.try_lock() {
            return;
        }
        loop {
            if state != 2 && self.0.swap(2, SeqCst) == 0 {
                return;
            }
            sleep_on(&self.0, 2, None);
            state = self.wait();
        }
    }

    /// Waits for a while, and returns the word.
    fn wait(&self) -> u32 {
        let waits = costs().waits;
        let rounds = match waits {
            Waits::Looks => 100,
            Waits::Yields => 10,
        };
        for round in 1..=rounds {
            let state = self.0.load(SeqCst);
            match (state, waits) {
                (1, Waits::Looks) => spin_loop(),
                (1, Waits::Yields) if round <= 3 => (0..1 << round).for_each(|_| spin_loop()),
                (1, Waits::Yields) => yield_now(),
                _ => return state,
            }
        }
        1
    }

    fn unlock(&self) {
        if self.0.swap(0, SeqCst) == 2 {
            wake(&self.0, 1);
        }
    }
}

/// A mutex. It is never poisoned, because a panic ends the simulation.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// A mutex that is held.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    /// Creates a mutex.
    pub const fn new(value: T) -> Self {
        Self {
            word: Word::new(),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks.
    ///
    /// # Errors
    /// Never.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.word.lock();
        Ok(MutexGuard { lock: self })
    }

    /// Locks if it is free.
    ///
    /// # Errors
    /// If it is not.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let is_locked = self.word.try_lock();
        // A guard that is made although the lock is held would free it.
        let guard = is_locked.then(|| MutexGuard { lock: self });
        guard.ok_or(TryLockError::WouldBlock)
    }
}

joint_facade::shows_its_name! { Mutex<?T> }
joint_facade::guard! { mut MutexGuard }

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.word.unlock();
    }
}

/// A lock for readers and writers, of which one at a time is inside.
pub type RwLock<T> = Mutex<T>;
/// Its guard.
pub type RwLockReadGuard<'a, T> = MutexGuard<'a, T>;

/// Whether the time has passed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time has passed.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// A condition variable: a count of its notifications.
#[derive(Debug, Default)]
pub struct Condvar(AtomicU32);

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "the names are those of std"
)]
impl Condvar {
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub fn notify_one(&self) {
        self.0.fetch_add(1, SeqCst);
        wake(&self.0, 1);
    }

    pub fn notify_all(&self) {
        self.0.fetch_add(1, SeqCst);
        wake(&self.0, usize::MAX);
    }

    fn wait_for<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        let seen = self.0.load(SeqCst);
        let lock = guard.lock;
        drop(guard);
        let timed_out = sleep_on(&self.0, seen, limit);
        lock.word.lock();
        (MutexGuard { lock }, WaitTimeoutResult(timed_out))
    }

    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        Ok(self.wait_for(guard, None).0)
    }

    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        Ok(self.wait_for(guard, Some(limit)))
    }
}

joint_facade::wait_while! { Condvar: MutexGuard, T: ?Sized }
