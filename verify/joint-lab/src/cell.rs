//! loom's cell, recorded.

use std::panic::Location;

pub use loom::cell::{Cell, ConstPtr, MutPtr};

use super::{event::Step, recorder};

wrapper! {
    /// [`loom::cell::UnsafeCell`], which fails on a race. To make one counts as a write to it.
    UnsafeCell<T> of loom::cell
}

impl<T> UnsafeCell<T> {
    /// Calls `f` with the pointer for reading.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        recorder::begins_plain(self.1, Step::Read, Location::caller());
        self.0.with(|value| {
            recorder::ended(0);
            f(value)
        })
    }

    /// Calls `f` with the pointer for a write or an exclusive access.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        recorder::begins_plain(self.1, Step::Write, Location::caller());
        self.0.with_mut(|value| {
            recorder::ended(0);
            f(value)
        })
    }

    /// Returns a pointer for reading. The cell counts as being read until it is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        record!(self.1, Step::Read, self.0.get())
    }

    /// Returns a pointer for writing. The cell counts as being written until it is dropped.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        record!(self.1, Step::Write, self.0.get_mut())
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
