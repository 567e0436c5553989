//! The memory of the program: pieces of one stretch, so that addresses lie alike on cache lines in
//! each run. A piece that is freed goes back to the core that allocated it. The allocator itself
//! costs nothing, except that a new piece is written where it is allocated.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    ptr::null_mut,
};
use std::alloc::System;

use crate::machine;

/// What is larger is the system's.
const LARGEST: usize = 4096;
/// A chunk has pieces of one size, for one core.
const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 1 << 15;
/// Sizes are multiples of it.
const GRAIN: usize = 16;
const SIZES: usize = LARGEST / GRAIN + 1;
const CORES: usize = 64;

struct Lists {
    base: *mut u8,
    chunks: usize,
    /// The core that a chunk belongs to.
    owners: [u8; CHUNKS],
    /// The free pieces, each of which begins with the address of the next one.
    free: [[*mut u8; SIZES]; CORES],
    /// What is left of the last chunk.
    rest: [[(*mut u8, usize); SIZES]; CORES],
}

std::thread_local! {
    /// Whether code of the program runs, and not the simulator's.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    static LISTS: Cell<*mut Lists> = const { Cell::new(null_mut()) };
}

/// Sets whether code of the program runs, and returns whether it did.
pub(crate) fn inside(is_inside: bool) -> bool {
    IS_INSIDE.replace(is_inside)
}

#[global_allocator]
static HEAP: Heap = Heap;

struct Heap;

/// Returns the lists of this thread of the system, which are made once.
fn lists() -> *mut Lists {
    let lists = LISTS.get();
    if !lists.is_null() {
        return lists;
    }
    // SAFETY: the layout is not empty, and zeroes are valid lists.
    let made: *mut Lists = unsafe { System.alloc_zeroed(Layout::new::<Lists>()) }.cast();
    let stretch = Layout::from_size_align(CHUNK * CHUNKS, CHUNK).expect("it is valid");
    // SAFETY: the layout is not empty.
    let base = unsafe { System.alloc(stretch) };
    assert!(
        !made.is_null() && !base.is_null(),
        "there is no memory left"
    );
    // SAFETY: the lists are this thread's.
    unsafe { (*made).base = base };
    LISTS.set(made);
    made
}

impl Lists {
    fn take(&mut self, core: usize, size: usize) -> *mut u8 {
        let grains = size / GRAIN;
        let first = self.free[core][grains];
        if !first.is_null() {
            // SAFETY: a free piece begins with the address of the next one.
            self.free[core][grains] = unsafe { first.cast::<*mut u8>().read() };
            return first;
        }
        let (mut rest, mut left) = self.rest[core][grains];
        if left < size {
            assert!(self.chunks < CHUNKS, "the program's memory is used up");
            self.owners[self.chunks] = core as u8;
            // SAFETY: within the stretch.
            rest = unsafe { self.base.add(self.chunks * CHUNK) };
            left = CHUNK;
            self.chunks += 1;
        }
        // SAFETY: within the chunk.
        self.rest[core][grains] = (unsafe { rest.add(size) }, left - size);
        rest
    }
}

/// The size of the pieces for a layout, which has the alignment.
fn size_of(layout: Layout) -> usize {
    layout
        .size()
        .max(1)
        .next_multiple_of(layout.align().max(GRAIN))
}

/// The layout of what begins with a cache line, wherever the system puts it.
fn on_a_line(layout: Layout) -> Layout {
    layout.align_to(64).expect("it is valid")
}

// SAFETY: each piece is handed out once until it is freed.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = size_of(layout);
        if size > LARGEST {
            // SAFETY: as the caller says.
            return unsafe { System.alloc(on_a_line(layout)) };
        }
        if IS_INSIDE.try_with(Cell::get) != Ok(true) {
            // SAFETY: as the caller says.
            return unsafe { System.alloc(layout) };
        }
        let core = machine::core();
        // SAFETY: only this thread uses the lists.
        let piece = unsafe { &mut *lists() }.take(core, size);
        machine::written(piece.addr(), size);
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let size = size_of(layout);
        if size > LARGEST {
            // SAFETY: as the caller says.
            return unsafe { System.dealloc(piece, on_a_line(layout)) };
        }
        let lists = LISTS.try_with(Cell::get).unwrap_or(null_mut());
        if !lists.is_null() {
            // SAFETY: only this thread uses the lists.
            let lists = unsafe { &mut *lists };
            let offset = piece.addr().wrapping_sub(lists.base.addr());
            if offset < CHUNK * CHUNKS {
                let core = usize::from(lists.owners[offset / CHUNK]);
                let first = &mut lists.free[core][size / GRAIN];
                // SAFETY: the piece is free, and has room for an address.
                unsafe { piece.cast::<*mut u8>().write(*first) };
                *first = piece;
                return;
            }
        }
        // SAFETY: as the caller says.
        unsafe { System.dealloc(piece, layout) }
    }
}
