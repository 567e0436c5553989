//! Thread-locals.

use core::{any::Any, cell::Cell};
use std::rc::Rc;

use crate::machine::with_locals;

/// The value is gone, or was never there because no machine runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AccessError(());

/// A local of each thread: the function that makes it. Its own address tells it apart.
#[derive(Debug)]
pub struct LocalKey<T: 'static>(fn() -> T);

/// The locals of one thread by the addresses of their keys, without the values that are gone.
pub(crate) type Locals = Vec<(usize, Option<Rc<dyn Any>>)>;

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        Self(init)
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
        let key = core::ptr::from_ref(self).addr();
        let find = |locals: &mut Locals| {
            let local = locals.iter().find(|local| local.0 == key);
            local.map(|local| local.1.clone())
        };
        let kept = match with_locals(find).ok_or(AccessError(()))? {
            Some(kept) => kept,
            None => {
                let value = (self.0)();
                with_locals(|locals| {
                    let kept: Option<Rc<dyn Any>> = Some(Rc::new(value));
                    locals.push((key, kept.clone()));
                    kept
                })
                .flatten()
            }
        };
        let value = kept.ok_or(AccessError(()))?;
        Ok(f(value.downcast_ref().expect("a key has one type")))
    }
}

/// Drops the locals of a thread that ends, one by one. Each may use those that are left.
pub(crate) fn end() {
    for place in 0.. {
        let local = with_locals(|locals| locals.get_mut(place).map(|local| local.1.take()));
        if local.flatten().is_none() {
            return;
        }
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Returns the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }
}

/// Declares thread-locals with the syntax of std's.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$ty> =
            $crate::thread::LocalKey::new(|| $init);
        $($crate::thread_local! { $($rest)* })?
    };
}
