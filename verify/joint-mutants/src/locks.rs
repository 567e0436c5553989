//! loom's locks, each of which can be left out. The value is a cell of loom's, so that a lock that
//! is deleted is a race.

use core::{
    fmt,
    ops::{Deref, DerefMut},
};
use std::sync::{LockResult, TryLockError, TryLockResult};

use loom::{
    cell::{ConstPtr, MutPtr, UnsafeCell},
    sync as model,
};

use crate::wake::{is_deleted, whatever};

/// Declares a lock, and each guard of it with the functions that make one.
macro_rules! lock {
    (
        $(#[$doc:meta])* $name:ident:
        $($(#[$guard_doc:meta])* $guard:ident $pointer:ident $get:ident $wait:ident $try:ident),+
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T> {
            pub(crate) lock: model::$name<()>,
            value: UnsafeCell<T>,
        }

        // SAFETY: only the holders of the lock use the value, or the model fails.
        unsafe impl<T: Send> Send for $name<T> {}

        impl<T> $name<T> {
            /// Creates a lock.
            #[track_caller]
            pub fn new(value: T) -> Self {
                Self {
                    lock: model::$name::new(()),
                    value: UnsafeCell::new(value),
                }
            }

            $(
                /// Waits for the lock.
                #[track_caller]
                pub fn $wait(&self) -> LockResult<$guard<'_, T>> {
                    let held = !is_deleted(stringify!($wait));
                    Ok($guard::new(self, held.then(|| whatever(self.lock.$wait()))))
                }

                /// Takes the lock if it is free.
                ///
                /// # Errors
                /// If it is not.
                #[track_caller]
                pub fn $try(&self) -> TryLockResult<$guard<'_, T>> {
                    let held = self.lock.$try();
                    let held = held.map_err(|_| TryLockError::WouldBlock)?;
                    Ok($guard::new(self, Some(held)))
                }
            )+

            /// Returns the value through an exclusive reference.
            #[track_caller]
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                // SAFETY: the reference to the lock is exclusive.
                Ok(self.value.with_mut(|value| unsafe { &mut *value }))
            }

            /// Returns the value.
            #[track_caller]
            pub fn into_inner(self) -> LockResult<T> {
                Ok(self.value.into_inner())
            }
        }

        joint_facade::of_a_value! { $name }

        $(
            $(#[$guard_doc])*
            #[allow(dead_code, reason = "a condition variable takes the guard of a mutex apart")]
            pub struct $guard<'a, T> {
                pub(crate) value: $pointer<T>,
                pub(crate) held: Option<model::$guard<'a, ()>>,
                pub(crate) lock: &'a $name<T>,
            }

            impl<'a, T> $guard<'a, T> {
                #[track_caller]
                pub(crate) fn new(
                    lock: &'a $name<T>,
                    held: Option<model::$guard<'a, ()>>,
                ) -> Self {
                    let value = lock.value.$get();
                    Self { value, held, lock }
                }
            }

            impl<T> Deref for $guard<'_, T> {
                type Target = T;

                fn deref(&self) -> &T {
                    // SAFETY: the lock is held, or the model has failed.
                    unsafe { self.value.deref() }
                }
            }

            impl<T: fmt::Debug> fmt::Debug for $guard<'_, T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    (**self).fmt(f)
                }
            }
        )+
    };
}

lock! {
    /// loom's mutex, whose locks can be deleted.
    Mutex:
    /// Holds a lock, unless that is deleted.
    MutexGuard MutPtr get_mut lock try_lock
}
lock! {
    /// loom's reader-writer lock, whose locks can be deleted.
    RwLock:
    /// Holds a lock for reading, unless that is deleted.
    RwLockReadGuard ConstPtr get read try_read,
    /// Holds a lock for writing, unless that is deleted.
    RwLockWriteGuard MutPtr get_mut write try_write
}

// SAFETY: as for `Send`.
unsafe impl<T: Send> Sync for Mutex<T> {}
// SAFETY: as for `Send`, and several readers may hold it.
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, or the model has failed.
        unsafe { self.value.deref() }
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, or the model has failed.
        unsafe { self.value.deref() }
    }
}
