//! Thread-locals.

use core::{any::Any, marker::PhantomData};

use crate::run;

/// A thread-local that its thread has dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AccessError;

/// A thread-local.
pub struct LocalKey<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

shows_its_name! { LocalKey }

impl<T: 'static> LocalKey<T> {
    /// Calls `f` with this thread's value.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let key = core::ptr::from_ref(self).addr();
        let value = run::local(key, || Box::new((self.init)()) as Box<dyn Any>);
        // SAFETY: the value lives until the end of its thread, which runs this.
        let value = unsafe { &*value };
        f(value.downcast_ref().expect("the key is the value's"))
    }

    /// Calls `f` with this thread's value.
    ///
    /// # Errors
    /// Outside of a model.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if run::is_running() {
            Ok(self.with(f))
        } else {
            Err(AccessError)
        }
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
