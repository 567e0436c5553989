//! Values and memory that a model must drop and free.

use crate::{
    graph::{Id, Kind},
    run::{self, Request, perform},
};

#[doc(no_inline)]
pub use std::alloc::Layout;

/// For an allocator that tells the code of a model from the checker's.
#[doc(hidden)]
pub use crate::heap::{is_in_model, outside};

/// Allocates memory, which the model must free.
///
/// # Safety
/// As for [`std::alloc::alloc`].
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller says.
    tracked(unsafe { std::alloc::alloc(layout) })
}

/// Allocates memory of zeros, which the model must free.
///
/// # Safety
/// As for [`std::alloc::alloc_zeroed`].
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller says.
    tracked(unsafe { std::alloc::alloc_zeroed(layout) })
}

#[track_caller]
fn tracked(pointer: *mut u8) -> *mut u8 {
    let place = made("memory");
    run::count(pointer.addr(), place);
    pointer
}

/// Frees memory.
///
/// # Safety
/// As for [`std::alloc::dealloc`].
///
/// # Panics
/// If it was not allocated here.
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    run::ended(run::counted(pointer.addr()));
    // SAFETY: as the caller says.
    unsafe { std::alloc::dealloc(pointer, layout) };
}

/// Records the creation of a tracked value, and returns its name.
#[track_caller]
fn made(name: &'static str) -> Id {
    let kind = Kind::Cell;
    let place = perform(name, Request::Make { kind, value: 0 }).id;
    run::made_alive(place);
    place
}

/// A value that must be dropped before an execution ends.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    alive: Alive,
}

#[derive(Debug)]
struct Alive(Id);

impl Drop for Alive {
    fn drop(&mut self) {
        run::ended(self.0);
    }
}

impl<T> Track<T> {
    /// Wraps a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let alive = Alive(made("Track"));
        Self { value, alive }
    }

    /// Returns the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value, which is no longer tracked.
    pub fn into_inner(self) -> T {
        let Self { value, alive } = self;
        drop(alive);
        value
    }
}
