//! The locks of `parking_lot`. A package of that name re-exports this module.

use core::{fmt, time::Duration};
use real::sync::{PoisonError, TryLockError, TryLockResult};

use crate::{clock::Instant, lock};

pub use lock::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

fn held<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A lock, and for each kind of guard the methods that take it: one that waits, one that does not,
/// and one that waits or gives up at once, for a duration that counts as passed.
macro_rules! lock {
    ($name:ident $make:ident: $($Guard:ident $wait:ident $try:ident $for:ident),+) => {
        pub struct $name<T: ?Sized>(lock::$name<T>);

        #[track_caller]
        pub const fn $make<T>(value: T) -> $name<T> {
            $name::new(value)
        }

        impl<T> $name<T> {
            #[track_caller]
            pub const fn new(value: T) -> Self {
                Self(lock::$name::new(value))
            }

            pub fn into_inner(self) -> T {
                self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
            }
        }

        impl<T: ?Sized> $name<T> {
            pub fn get_mut(&mut self) -> &mut T {
                self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
            }

            $(
                #[track_caller]
                pub fn $wait(&self) -> $Guard<'_, T> {
                    self.0.$wait().unwrap_or_else(PoisonError::into_inner)
                }

                #[track_caller]
                pub fn $try(&self) -> Option<$Guard<'_, T>> {
                    held(self.0.$try())
                }

                #[track_caller]
                pub fn $for(&self, time: Duration) -> Option<$Guard<'_, T>> {
                    crate::threads::sleep(time);
                    self.$try()
                }
            )+
        }

        impl<T: ?Sized> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        joint_check::__facade::of_a_value! { $name }
    };
}

lock! { Mutex const_mutex: MutexGuard lock try_lock try_lock_for }
lock! {
    RwLock const_rwlock: RwLockReadGuard read try_read try_read_for,
    RwLockWriteGuard write try_write try_write_for
}

impl<T: ?Sized> Mutex<T> {
    #[track_caller]
    pub fn is_locked(&self) -> bool {
        self.try_lock().is_none()
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub fn timed_out(self) -> bool {
        self.0
    }
}

#[derive(Debug, Default)]
pub struct Condvar(lock::Condvar);

impl Condvar {
    #[track_caller]
    pub const fn new() -> Self {
        Self(lock::Condvar::new())
    }

    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.0.wait_with(guard);
    }

    /// Waits, or gives up at once. Both are tried, and the time counts as passed.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Duration,
    ) -> WaitTimeoutResult {
        WaitTimeoutResult(self.0.wait_with_timeout(guard, time).timed_out())
    }

    /// As [`wait_for`](Self::wait_for).
    #[track_caller]
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        end: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, end - Instant::now())
    }

    #[track_caller]
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Returns true: whether a thread was woken is not known.
    #[track_caller]
    pub fn notify_one(&self) -> bool {
        self.0.notify_one();
        true
    }

    /// Returns 1, for the same reason.
    #[track_caller]
    pub fn notify_all(&self) -> usize {
        self.0.notify_all();
        1
    }
}
