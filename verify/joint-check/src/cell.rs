//! Cells whose accesses must not race.

use crate::{
    graph::{Id, Kind},
    run::{Owned, Request, perform},
};

/// A cell. A model fails if two accesses to it race.
#[derive(Debug)]
pub struct UnsafeCell<T: ?Sized> {
    place: Owned,
    value: core::cell::UnsafeCell<T>,
}

/// An access in progress, by the step with which it began. Its end is no step, but what conflicts
/// with it has to happen after the last step before its end.
#[derive(Debug)]
struct Access(Id);

impl Access {
    #[track_caller]
    fn new(place: &Owned, writes: bool) -> Self {
        let name = if writes { "write" } else { "read" };
        let place = place.id();
        Self(perform(name, Request::Cell { place, writes }).id)
    }
}

impl Drop for Access {
    #[track_caller]
    fn drop(&mut self) {
        perform("end of access", Request::EndOfAccess(self.0));
    }
}

impl<T> UnsafeCell<T> {
    /// Creates a cell.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self {
            place: Owned::new("UnsafeCell", Kind::Cell, 0),
            value: core::cell::UnsafeCell::new(value),
        }
    }

    /// Returns the value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        Access::new(&self.place, true);
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Calls `f` with the pointer, for reading.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let _access = Access::new(&self.place, false);
        f(self.value.get())
    }

    /// Calls `f` with the pointer, for a write or an exclusive access.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let _access = Access::new(&self.place, true);
        f(self.value.get())
    }

    /// Returns the pointer, for reading until it is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr {
            _access: Access::new(&self.place, false),
            pointer: self.value.get(),
        }
    }

    /// Returns the pointer, for writing until it is dropped.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr {
            _access: Access::new(&self.place, true),
            pointer: self.value.get(),
        }
    }
}

macro_rules! pointer {
    ($name:ident $kind:tt [$($mutable:tt)?] $doing:literal $safety:literal) => {
        #[doc = concat!("A pointer to the value of a cell that is being ", $doing, ".")]
        #[derive(Debug)]
        pub struct $name<T: ?Sized> {
            _access: Access,
            pointer: *$kind T,
        }

        impl<T: ?Sized> $name<T> {
            /// Returns the value.
            ///
            /// # Safety
            #[doc = $safety]
            #[allow(clippy::mut_from_ref, reason = "it is a pointer, as in loom")]
            pub unsafe fn deref(&self) -> &$($mutable)? T {
                // SAFETY: as the caller says.
                unsafe { &$($mutable)? *self.pointer }
            }

            /// Calls `f` with the pointer.
            pub fn with<R>(&self, f: impl FnOnce(*$kind T) -> R) -> R {
                f(self.pointer)
            }
        }
    };
}

pointer! { ConstPtr const [] "read" "The cell exists, and nobody writes." }
pointer! { MutPtr mut [mut] "written" "The cell exists, and there is no other reference." }

/// [`std::cell::Cell`], whose accesses must not race.
#[derive(Debug)]
pub struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    /// Creates a cell.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Sets the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if !core::ptr::eq(self, other) {
            let (ours, theirs) = (self.0.get_mut(), other.0.get_mut());
            // SAFETY: the cells are two, and nobody else uses them meanwhile.
            unsafe { core::ptr::swap(ours.pointer, theirs.pointer) };
        }
    }

    /// Sets the value, and returns the one before.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: the model fails before another thread uses the cell meanwhile.
        self.0.with_mut(|ours| unsafe { ours.replace(value) })
    }

    /// Returns the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }

    /// Returns the value, and leaves the default.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Returns the value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

joint_facade::of_a_value! { UnsafeCell }
joint_facade::of_a_value! { Cell }
