//! Cells.

use core::mem::MaybeUninit;

use crate::machine::{Act, touch_plain};

/// std's cell, with the access functions of loom's.
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Creates a cell.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with the pointer, for reading.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        touch_plain(self.0.get().addr(), size_of::<T>(), Act::Load);
        f(self.0.get())
    }

    /// Calls `f` with the pointer, for a write or an exclusive access.
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        touch_plain(self.0.get().addr(), size_of::<T>(), Act::Store);
        f(self.0.get())
    }
}

impl<T> UnsafeCell<MaybeUninit<T>> {
    /// Makes a cell without a value in its place, and not on the stack first.
    ///
    /// # Safety
    /// It may be written.
    pub const unsafe fn write_uninit(_: *mut Self) {}
}
