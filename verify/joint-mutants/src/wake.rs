//! loom's wake-ups and threads, each of which can be left out.

use core::time::Duration;
use std::{
    io,
    sync::{LockResult, PoisonError},
};

use loom::{
    sync::{self as model, WaitTimeoutResult},
    thread::{self, ThreadId},
};

use crate::{
    locks::{Mutex, MutexGuard},
    place::Change,
};

#[track_caller]
pub(crate) fn is_deleted(operation: &'static str) -> bool {
    crate::request::change([operation, ""], [None; 2]) == Some(Change::Deleted)
}

pub(crate) fn whatever<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// loom's condition variable, whose notifications can be deleted.
#[derive(Debug, Default)]
pub struct Condvar(model::Condvar);

impl Condvar {
    /// Creates a condition variable.
    #[track_caller]
    pub fn new() -> Self {
        Self(model::Condvar::new())
    }

    /// Gives the lock up, waits for a notification, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let (held, mutex) = begin(guard);
        let held = whatever(self.0.wait(held));
        Ok(MutexGuard::new(mutex, Some(held)))
    }

    /// Does the same, or gives up.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let (held, mutex) = begin(guard);
        let (held, result) = whatever(self.0.wait_timeout(held, time));
        Ok((MutexGuard::new(mutex, Some(held)), result))
    }

    /// Wakes a thread that waits.
    #[track_caller]
    pub fn notify_one(&self) {
        if !is_deleted("notify_one") {
            self.0.notify_one();
        }
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        if !is_deleted("notify_all") {
            self.0.notify_all();
        }
    }
}

/// Ends the access of a guard, and takes the lock if that was deleted.
#[track_caller]
fn begin<T>(guard: MutexGuard<'_, T>) -> (model::MutexGuard<'_, ()>, &Mutex<T>) {
    let MutexGuard { value, held, lock } = guard;
    drop(value);
    let held = held.unwrap_or_else(|| whatever(lock.lock.lock()));
    (held, lock)
}

/// loom's flag that a thread waits for, whose notification can be deleted.
#[derive(Debug)]
pub struct Notify(model::Notify);

impl Notify {
    /// Creates one without a notification.
    #[allow(
        clippy::new_without_default,
        reason = "loom's has none in all versions"
    )]
    pub fn new() -> Self {
        Self(model::Notify::new())
    }

    /// Makes the current or next `wait` return.
    #[track_caller]
    pub fn notify(&self) {
        if !is_deleted("notify") {
            self.0.notify();
        }
    }

    /// Waits for a notification.
    #[track_caller]
    pub fn wait(&self) {
        self.0.wait();
    }
}

/// loom's handle of a thread, whose `unpark` can be deleted.
#[derive(Clone, Debug)]
pub struct Thread(thread::Thread);

impl Thread {
    /// Returns its identity.
    pub fn id(&self) -> ThreadId {
        self.0.id()
    }

    /// Returns its name.
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// Makes the thread's current or next `park` return.
    #[track_caller]
    pub fn unpark(&self) {
        if !is_deleted("unpark") {
            self.0.unpark();
        }
    }
}

/// Returns the handle of the running thread.
pub fn current() -> Thread {
    Thread(thread::current())
}

/// Waits for the thread's `unpark`.
#[track_caller]
pub fn park() {
    if !is_deleted("park") {
        thread::park();
    }
}

/// loom's handle with which to wait for the end of a thread.
#[derive(Debug)]
pub struct JoinHandle<T>(thread::JoinHandle<Option<T>>, Thread);

impl<T> JoinHandle<T> {
    fn of(handle: thread::JoinHandle<Option<T>>) -> Self {
        let thread = Thread(handle.thread().clone());
        Self(handle, thread)
    }

    /// Waits for the end of the thread.
    ///
    /// # Errors
    /// If it has panicked.
    ///
    /// # Panics
    /// If the spawn was deleted.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        let result = self.0.join()?;
        Ok(result.expect("the thread was not started"))
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        &self.1
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    let starts = !is_deleted("spawn");
    JoinHandle::of(thread::spawn(move || starts.then(f)))
}

/// Starts threads.
#[derive(Debug)]
pub struct Builder(thread::Builder);

impl Builder {
    /// Creates a builder.
    #[allow(clippy::new_without_default, reason = "std's has none")]
    pub fn new() -> Self {
        Self(thread::Builder::new())
    }

    /// Names the thread.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// Sets the size of the stack.
    #[must_use]
    pub fn stack_size(self, size: usize) -> Self {
        Self(self.0.stack_size(size))
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// If the checker has no more.
    #[track_caller]
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let starts = !is_deleted("spawn");
        self.0.spawn(move || starts.then(f)).map(JoinHandle::of)
    }
}
