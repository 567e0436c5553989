//! Thread-locals.

use core::{
    any::Any,
    cell::OnceCell,
    fmt,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use std::sync::OnceLock;

use crate::machine::with_locals;

/// The value is gone, or was never there because no machine runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AccessError(());

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl core::error::Error for AccessError {}

/// A local of each thread.
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
    number: OnceLock<usize>,
}

impl<T> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalKey")
    }
}

/// The number of the next local.
static KEYS: AtomicUsize = AtomicUsize::new(0);

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        let number = OnceLock::new();
        Self { init, number }
    }

    /// Calls `f` with the value.
    ///
    /// # Panics
    /// If the value is gone.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).expect("the thread-local is there")
    }

    /// Calls `f` with the value.
    ///
    /// # Errors
    /// If the value is gone.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let key = *self.number.get_or_init(|| KEYS.fetch_add(1, Relaxed));
        let place = with_locals(|locals| {
            if locals.len() <= key {
                locals.resize_with(key + 1, || Local::Absent);
            }
            if let Local::Absent = locals[key] {
                locals[key] = Local::Here(Box::new(OnceCell::<T>::new()));
            }
            match &locals[key] {
                Local::Here(local) => local.downcast_ref::<OnceCell<T>>().map(core::ptr::from_ref),
                _ => None,
            }
        });
        let place = place.flatten().ok_or(AccessError(()))?;
        // SAFETY: the box is dropped at the end of its thread, which runs this.
        let place = unsafe { &*place };
        Ok(f(place.get_or_init(self.init)))
    }
}

/// The place of a local in one thread.
#[derive(Default)]
pub(crate) enum Local {
    #[default]
    Absent,
    Here(Box<dyn Any>),
    Gone,
}

/// Drops the locals of a thread that ends, one by one. Each may use those that are left.
pub(crate) fn end() {
    for key in 0..KEYS.load(Relaxed) {
        let local = with_locals(|locals| {
            let local = locals.get_mut(key)?;
            Some(core::mem::replace(local, Local::Gone))
        });
        drop(local);
    }
}

impl<T: 'static> LocalKey<core::cell::Cell<T>> {
    /// Returns the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(core::cell::Cell::get)
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Sets the value, and returns the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

/// Declares thread-locals with the syntax of std's.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = const $init:block $(; $($rest:tt)*)?) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$ty> =
            $crate::thread::LocalKey::new(|| $init);
        $($crate::thread_local! { $($rest)* })?
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$ty> =
            $crate::thread::LocalKey::new(|| $init);
        $($crate::thread_local! { $($rest)* })?
    };
}
