//! loom's condition variable, recorded.

use std::{
    panic::Location,
    sync::{LockResult, PoisonError},
    time::Duration,
};

use super::lock::{Held, MutexGuard};
use crate::{event::Step, recorder};

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
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let locked_at = Location::caller();
        let MutexGuard { _held: held, guard } = guard;
        let (place, unlock) = (held.place, held.unlock);
        drop(held);
        recorder::begins_plain(self.1, Step::Wait, locked_at);
        let guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
        recorder::ended(0);
        recorder::now(place, Step::Lock, locked_at);
        let _held = Held {
            place,
            unlock,
            locked_at,
        };
        Ok(MutexGuard { _held, guard })
    }

    /// Works as [`std::sync::Condvar::wait_while`].
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
