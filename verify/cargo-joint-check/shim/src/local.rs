//! Thread-locals of a model's threads.

use real::{cell, thread::AccessError};

use joint_check::{alloc::outside, thread as checked};

/// [`std::thread::LocalKey`]. `thread_local!` makes it.
pub struct LocalKey<T: 'static>(#[doc(hidden)] pub checked::LocalKey<T>);

joint_check::__facade::shows_its_name! { LocalKey<T> }

impl<T> LocalKey<T> {
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.0.with(f)
    }

    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        self.0.try_with(f).map_err(|_| gone())
    }
}

/// std's error, which only std makes.
fn gone() -> AccessError {
    real::thread_local! {
        static KEY: Late = const { Late };
    }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            ERROR.set(KEY.try_with(|_| ()).err());
        }
    }
    static ERROR: Error = Error(real::sync::Mutex::new(None));
    struct Error(real::sync::Mutex<Option<AccessError>>);
    impl Error {
        fn set(&self, error: Option<AccessError>) {
            *self.0.lock().expect("nobody panics") = error;
        }
    }
    let _outside = outside();
    real::thread::spawn(|| KEY.with(|_| ()))
        .join()
        .expect("it does not panic");
    let error = *ERROR.0.lock().expect("nobody panics");
    error.expect("the value was being dropped")
}

impl<T> LocalKey<cell::Cell<T>> {
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(cell::Cell::get)
    }

    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(cell::Cell::take)
    }

    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T> LocalKey<cell::RefCell<T>> {
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }
}

#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local! { $(#[$attr])* $vis static $name: $ty = $init; $($rest)* }
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = const $init:block) => {
        $crate::thread_local! { $(#[$attr])* $vis static $name: $ty = $init; }
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr; $($rest:tt)*) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$ty> =
            $crate::thread::LocalKey($crate::__joint_check::thread::LocalKey {
                init: || $init,
                _p: ::core::marker::PhantomData,
            });
        $crate::thread_local! { $($rest)* }
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr) => {
        $crate::thread_local! { $(#[$attr])* $vis static $name: $ty = $init; }
    };
}
