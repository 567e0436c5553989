//! Thread-locals.

use core::{fmt, marker::PhantomData};

use crate::run;

/// The error of a thread-local that its thread has dropped, or drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl core::error::Error for AccessError {}

/// A thread-local.
pub struct LocalKey<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

joint_facade::shows_its_name! { LocalKey<T> }

impl<T: 'static> LocalKey<T> {
    /// Calls `f` with this thread's value.
    ///
    /// # Panics
    /// If the value's destructor has begun, or outside of a model.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let result = self.try_with(f);
        result.expect("a thread-local is used during or after its destruction")
    }

    /// Calls `f` with this thread's value.
    ///
    /// # Errors
    /// If the value's destructor has begun, or outside of a model.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if !run::is_running() {
            return Err(AccessError);
        }
        let key = core::ptr::from_ref(self).addr();
        let value = run::local(key, self.init).ok_or(AccessError)?;
        // SAFETY: the value lives until its destructor begins, at the end of this thread.
        let value = unsafe { &*value };
        Ok(f(value.downcast_ref().expect("the key is the value's")))
    }
}

/// Declares thread-locals of a model, with the syntax of std's.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = const { $init:expr }; $($rest:tt)*) => {
        $crate::thread_local! { $(#[$attr])* $vis static $name: $ty = $init; $($rest)* }
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr; $($rest:tt)*) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$ty> =
            $crate::thread::LocalKey { init: || $init, _p: ::core::marker::PhantomData };
        $crate::thread_local! { $($rest)* }
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr) => {
        $crate::thread_local! { $(#[$attr])* $vis static $name: $ty = $init; }
    };
}
