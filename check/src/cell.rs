//! A cell whose accesses must not race.

use crate::{
    graph::{Id, Kind},
    run::{Request, perform},
};

/// A cell. A model fails if two accesses to it race.
#[derive(Debug)]
pub struct UnsafeCell<T> {
    value: core::cell::UnsafeCell<T>,
    place: Id,
}

impl<T> UnsafeCell<T> {
    /// Creates a cell.
    pub fn new(value: T) -> Self {
        let made = perform(Request::Make {
            kind: Kind::Cell,
            value: 0,
        });
        Self {
            value: core::cell::UnsafeCell::new(value),
            place: made.id,
        }
    }

    /// Calls `f` with the pointer, for reading.
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        perform(Request::Cell {
            place: self.place,
            writes: false,
        });
        f(self.value.get())
    }

    /// Calls `f` with the pointer, for a write or an exclusive access.
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        perform(Request::Cell {
            place: self.place,
            writes: true,
        });
        f(self.value.get())
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        perform(Request::Cell {
            place: self.place,
            writes: true,
        });
        self.value.into_inner()
    }
}
