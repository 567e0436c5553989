//! loom's reader-writer lock, recorded.

use std::{
    ops::{Deref, DerefMut},
    panic::Location,
    sync::{LockResult, PoisonError, TryLockError, TryLockResult},
};

use crate::{
    event::{Source, Step},
    recorder,
};

wrapper! {
    /// [`loom::sync::RwLock`], which is never poisoned.
    RwLock<T> of loom::sync
}
lock! { RwLock }

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Records that a lock is let go, when it is dropped.
#[derive(Debug)]
struct Held {
    place: u64,
    unlock: Step,
    /// Where it was locked. The place of the unlock cannot be known.
    locked_at: Source,
}

impl Drop for Held {
    fn drop(&mut self) {
        recorder::now(self.place, self.unlock, self.locked_at);
    }
}

macro_rules! side {
    ($lock:ident, $try_lock:ident, $guard:ident, $step:ident, $unlock:ident) => {
        #[doc = concat!("[`loom::sync::", stringify!($guard), "`].")]
        #[derive(Debug)]
        pub struct $guard<'a, T> {
            /// Dropped first.
            _held: Held,
            guard: loom::sync::$guard<'a, T>,
        }

        impl<T> RwLock<T> {
            #[doc = concat!("Works as [`std::sync::RwLock::", stringify!($lock), "`].")]
            ///
            /// # Errors
            /// Never.
            #[track_caller]
            pub fn $lock(&self) -> LockResult<$guard<'_, T>> {
                recorder::begins_plain(self.1, Step::$step, Location::caller());
                let guard = self.0.$lock().unwrap_or_else(PoisonError::into_inner);
                recorder::ended(0);
                Ok($guard {
                    _held: self.held(Step::$unlock, Location::caller()),
                    guard,
                })
            }

            #[doc = concat!("Works as [`std::sync::RwLock::", stringify!($try_lock), "`].")]
            ///
            /// # Errors
            /// Returns an error if a lock is in the way.
            #[track_caller]
            pub fn $try_lock(&self) -> TryLockResult<$guard<'_, T>> {
                let Ok(guard) = self.0.$try_lock() else {
                    return Err(TryLockError::WouldBlock);
                };
                recorder::now(self.1, Step::$step, Location::caller());
                Ok($guard {
                    _held: self.held(Step::$unlock, Location::caller()),
                    guard,
                })
            }
        }

        impl<T> Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.guard
            }
        }
    };
}

side!(read, try_read, RwLockReadGuard, ReadLock, ReadUnlock);
side!(write, try_write, RwLockWriteGuard, Lock, Unlock);

impl<T> RwLock<T> {
    fn held(&self, unlock: Step, locked_at: Source) -> Held {
        Held {
            place: self.1,
            unlock,
            locked_at,
        }
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
