//! How often the program requests memory.

use std::{
    alloc::{GlobalAlloc, Layout},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use joint_benches::allocator::Allocator;

/// The allocator, which counts while it is asked to.
struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

/// Off while times are measured, so that an allocation costs one load more than without it.
static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count() {
    if COUNTS.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that this needs.
        unsafe { Allocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those that this needs; the block came from there.
        unsafe { Allocator.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that this needs; the block came from there.
        unsafe { Allocator.realloc(block, layout, size) }
    }
}

/// Returns how often memory is requested while `f` runs, by any thread.
pub(crate) fn allocations<R>(f: impl FnOnce() -> R) -> u64 {
    ALLOCATIONS.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
    f();
    COUNTS.store(false, Relaxed);
    ALLOCATIONS.load(Relaxed)
}
