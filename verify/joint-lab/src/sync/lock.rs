//! loom's mutex and reader-writer lock, recorded.

use std::{
    ops::{Deref, DerefMut},
    panic::Location,
    sync::{LockResult, PoisonError, TryLockError, TryLockResult},
};

use crate::{
    event::{Source, Step},
    recorder,
};

/// Records that a lock is let go, when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) place: u64,
    pub(super) unlock: Step,
    /// Where it was locked. The place of the unlock cannot be known.
    locked_at: Source,
}

impl Held {
    #[track_caller]
    pub(super) fn new(place: u64, unlock: Step) -> Self {
        let locked_at = Location::caller();
        Self {
            place,
            unlock,
            locked_at,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        recorder::now(self.place, self.unlock, self.locked_at);
    }
}

/// The functions of a lock that record nothing.
macro_rules! lock {
    ($name:ident) => {
        impl<T> $name<T> {
            #[doc = concat!("Works as [`std::sync::", stringify!($name), "::get_mut`].")]
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.0.get_mut()
            }

            #[doc = concat!("Works as [`std::sync::", stringify!($name), "::into_inner`].")]
            pub fn into_inner(self) -> LockResult<T> {
                self.0.into_inner()
            }
        }
    };
}

/// A guard, and the two functions that return it.
macro_rules! guard {
    ($of:ident, $lock:ident, $try_lock:ident, $guard:ident, $step:ident, $unlock:ident) => {
        #[doc = concat!("[`loom::sync::", stringify!($guard), "`].")]
        #[derive(Debug)]
        pub struct $guard<'a, T> {
            /// Dropped first.
            pub(super) _held: Held,
            pub(super) guard: loom::sync::$guard<'a, T>,
        }

        impl<T> $of<T> {
            #[doc = concat!("Works as [`std::sync::", stringify!($of), "::", stringify!($lock), "`].")]
            #[track_caller]
            pub fn $lock(&self) -> LockResult<$guard<'_, T>> {
                let guard = record!(self.1, Step::$step, self.0.$lock());
                let guard = guard.unwrap_or_else(PoisonError::into_inner);
                Ok($guard { _held: Held::new(self.1, Step::$unlock), guard })
            }

            #[doc = concat!("Works as [`std::sync::", stringify!($of), "::", stringify!($try_lock), "`].")]
            ///
            /// # Errors
            /// Returns an error if a lock is in the way.
            #[track_caller]
            pub fn $try_lock(&self) -> TryLockResult<$guard<'_, T>> {
                let Ok(guard) = self.0.$try_lock() else {
                    return Err(TryLockError::WouldBlock);
                };
                recorder::now(self.1, Step::$step, Location::caller());
                Ok($guard { _held: Held::new(self.1, Step::$unlock), guard })
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

wrapper! {
    /// [`loom::sync::Mutex`], which is never poisoned.
    Mutex<T> of loom::sync
}
lock! { Mutex }
guard! { Mutex, lock, try_lock, MutexGuard, Lock, Unlock }

wrapper! {
    /// [`loom::sync::RwLock`], which is never poisoned.
    RwLock<T> of loom::sync
}
lock! { RwLock }
guard! { RwLock, read, try_read, RwLockReadGuard, ReadLock, ReadUnlock }
guard! { RwLock, write, try_write, RwLockWriteGuard, Lock, Unlock }

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
