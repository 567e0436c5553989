//! [`std::cell`], whose `UnsafeCell` shows accesses to the model.

use core::{cell, fmt};

pub use real::cell::*;

use crate::joint::{self, Watched};

/// The cell of that name. [`joint::read`] and [`joint::write`], which the tool adds to the source,
/// say what a pointer is for.
#[repr(C)]
pub struct UnsafeCell<T: ?Sized> {
    slot: Watched,
    value: cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self {
            slot: Watched::new(()),
            value: cell::UnsafeCell::new(value),
        }
    }

    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    pub const fn get(&self) -> *mut T {
        core::intrinsics::const_eval_select((self,), Self::pointer, Self::noted)
    }

    const fn pointer(&self) -> *mut T {
        self.value.get()
    }

    #[track_caller]
    fn noted(&self) -> *mut T {
        let pointer = self.value.get();
        joint::note(&self.slot, self.bytes());
        pointer
    }

    /// Where the value is, and its size.
    fn bytes(&self) -> (usize, usize) {
        (
            self.value.get().cast::<()>().addr(),
            size_of_val(&self.value),
        )
    }

    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        joint::access(&self.slot, self.bytes(), true);
        self.value.get_mut()
    }

    pub const fn raw_get(this: *const Self) -> *mut T {
        // SAFETY: the field is part of the cell.
        unsafe { cell::UnsafeCell::raw_get(&raw const (*this).value) }
    }
}

joint_check::__facade::of_a_value! { UnsafeCell }

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnsafeCell { .. }")
    }
}
