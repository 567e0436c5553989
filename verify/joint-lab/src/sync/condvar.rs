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
        let MutexGuard { _held: held, guard } = guard;
        let (place, unlock) = (held.place, held.unlock);
        drop(held);
        let guard = record!(self.1, Step::Wait, self.0.wait(guard));
        let guard = guard.unwrap_or_else(PoisonError::into_inner);
        recorder::now(place, Step::Lock, Location::caller());
        let _held = Held::new(place, unlock);
        Ok(MutexGuard { _held, guard })
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
        record!(self.1, Step::Notify { all: false }, self.0.notify_one());
    }

    /// Works as [`std::sync::Condvar::notify_all`].
    #[track_caller]
    pub fn notify_all(&self) {
        record!(self.1, Step::Notify { all: true }, self.0.notify_all());
    }
}

joint_facade::wait_while! { Condvar: MutexGuard, T }
