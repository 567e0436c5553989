//! Memory that a model frees is freed at the end of its run, so that no address is given out again
//! before. A run repeats the steps of another one: if two addresses were equal in one of them only,
//! because the allocator has reused one, a comparison would lead elsewhere.
//!
//! An allocator that is declared elsewhere excludes the one here. The feature `delayed-frees` is
//! off in such a program.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    mem::ManuallyDrop,
};
use std::alloc::System;

std::thread_local! {
    /// Whether code of a model runs, and not the checker's.
    static IN_MODEL: Cell<bool> = const { Cell::new(false) };
    /// Whether this run is a trial, which looks into the model's memory. All memory is kept then,
    /// also that which the checker frees, and is zero at first.
    static IS_KEPT: Cell<bool> = const { Cell::new(false) };
    /// What the model has freed in this run.
    static FREED: Cell<Freed> = const { Cell::new(ManuallyDrop::new(Vec::new())) };
}

/// It has no destructor, because a destructor could not be registered while memory is freed.
type Freed = ManuallyDrop<Vec<(*mut u8, Layout)>>;

/// Sets whether code of a model runs, and returns whether it did.
pub(crate) fn in_model(is_in: bool) -> bool {
    IN_MODEL.replace(is_in)
}

/// While this exists, the checker's code runs.
#[derive(Debug)]
pub struct Outside(bool);

impl Drop for Outside {
    fn drop(&mut self) {
        in_model(self.0);
    }
}

/// The checker's code runs from here on, until the result is dropped.
pub fn outside() -> Outside {
    Outside(in_model(false))
}

/// Whether code of a model runs, and not the checker's.
pub fn is_in_model() -> bool {
    IN_MODEL.get()
}

/// Sets whether all memory is kept until the end of the run.
pub(crate) fn keep(is_kept: bool) {
    IS_KEPT.set(is_kept);
}

/// Frees what the model has freed. Its code does not run any more.
pub(crate) fn free_all() {
    keep(false);
    let mut freed = FREED.take();
    for (pointer, layout) in freed.drain(..) {
        // SAFETY: the model has freed it, and the memory came from there.
        unsafe { System.dealloc(pointer, layout) };
    }
    FREED.set(freed);
}

#[cfg_attr(feature = "delayed-frees", global_allocator)]
#[cfg_attr(not(feature = "delayed-frees"), allow(dead_code))]
static HEAP: Heap = Heap;

struct Heap;

/// Keeps memory until the end of the run.
fn free_later(pointer: *mut u8, layout: Layout) {
    // The list's own memory is not kept.
    let is_kept = IS_KEPT.replace(false);
    let mut freed = FREED.take();
    freed.push((pointer, layout));
    FREED.set(freed);
    keep(is_kept);
}

/// Tells the run what its model has allocated.
fn allocated(pointer: *mut u8, layout: Layout) -> *mut u8 {
    if IN_MODEL.try_with(|is_in| is_in.replace(false)) == Ok(true) {
        crate::run::allocated(pointer.expose_provenance(), layout.size());
        in_model(true);
    }
    pointer
}

// SAFETY: the memory is the system's, and each piece is freed at most once.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_KEPT.try_with(Cell::get) == Ok(true) {
            // SAFETY: as the caller says.
            return unsafe { self.alloc_zeroed(layout) };
        }
        // SAFETY: as the caller says.
        allocated(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        allocated(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if IN_MODEL.try_with(|is_in| is_in.replace(false)) == Ok(true) {
            free_later(pointer, layout);
            crate::run::dealloc(pointer.addr(), layout.size());
            in_model(true);
        } else if IS_KEPT.try_with(Cell::get) == Ok(true) {
            free_later(pointer, layout);
        } else {
            // SAFETY: as the caller says.
            unsafe { System.dealloc(pointer, layout) };
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_in_model = IN_MODEL.try_with(Cell::get) == Ok(true);
        if !is_in_model && IS_KEPT.try_with(Cell::get) != Ok(true) {
            // SAFETY: as the caller says.
            return unsafe { System.realloc(pointer, layout, size) };
        }
        // SAFETY: as the caller says.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as the caller says.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both have at least so many bytes.
            unsafe { moved.copy_from_nonoverlapping(pointer, size.min(layout.size())) };
            // SAFETY: as the caller says.
            unsafe { self.dealloc(pointer, layout) };
        }
        moved
    }
}
