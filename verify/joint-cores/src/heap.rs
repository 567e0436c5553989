//! The memory of the program: chunks that begin with a line, so that pieces lie alike on cache
//! lines in each run. A piece that is freed goes back to the core that allocated it. The allocator
//! itself costs nothing, except that a new piece is written where it is allocated.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::{Cell, RefCell},
};
use std::{alloc::System, collections::HashMap};

use crate::machine;

/// What is larger is the system's.
const LARGEST: usize = 4096;
/// A chunk has pieces of one size, for one core.
const CHUNK: usize = 1 << 16;
/// Sizes are multiples of it.
const GRAIN: usize = 16;

#[derive(Default)]
struct Lists {
    /// The core that a chunk belongs to, by its address divided by its size.
    owners: HashMap<usize, usize>,
    /// The free pieces by core and size.
    free: HashMap<(usize, usize), Vec<*mut u8>>,
}

std::thread_local! {
    /// Whether code of the program runs, and not the simulator's.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The lists of this thread of the system, which are leaked.
    static LISTS: &'static RefCell<Lists> = Box::leak(Box::default());
}

/// Sets whether code of the program runs.
pub(crate) fn inside(is_inside: bool) {
    IS_INSIDE.set(is_inside);
}

/// Runs code of the simulator's.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    let was_inside = IS_INSIDE.replace(false);
    let result = f();
    inside(was_inside);
    result
}

#[global_allocator]
static HEAP: Heap = Heap;

struct Heap;

impl Lists {
    /// Takes a piece of a core.
    fn take(&mut self, core: usize, size: usize) -> *mut u8 {
        let free = self.free.entry((core, size)).or_default();
        if free.is_empty() {
            let layout = Layout::from_size_align(CHUNK, CHUNK).expect("it is valid");
            // SAFETY: the layout is not empty.
            let chunk = unsafe { System.alloc(layout) };
            assert!(!chunk.is_null(), "there is no memory left");
            self.owners.insert(chunk.addr() / CHUNK, core);
            // SAFETY: within the chunk. The first one is taken first.
            let piece = |number| unsafe { chunk.add(number * size) };
            free.extend((0..CHUNK / size).rev().map(piece));
        }
        free.pop().expect("a chunk has pieces")
    }

    /// Gives a piece back. Returns whether it is one of a chunk.
    fn give(&mut self, piece: *mut u8, size: usize) -> bool {
        let Some(core) = self.owners.get(&(piece.addr() / CHUNK)) else {
            return false;
        };
        self.free.entry((*core, size)).or_default().push(piece);
        true
    }
}

/// The size of the pieces for a layout, which has the alignment.
fn size_of(layout: Layout) -> usize {
    let grain = layout.align().max(GRAIN);
    layout.size().max(1).next_multiple_of(grain)
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
        // What the lists themselves allocate is the system's.
        let take = |lists: &&RefCell<Lists>| lists.borrow_mut().take(machine::core(), size);
        let piece = outside(|| LISTS.with(take));
        machine::written(piece.addr(), size);
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let size = size_of(layout);
        if size > LARGEST {
            // SAFETY: as the caller says.
            return unsafe { System.dealloc(piece, on_a_line(layout)) };
        }
        // While they are borrowed, they give up memory of their own.
        let give = |lists: &&RefCell<Lists>| {
            let lists = lists.try_borrow_mut();
            lists.is_ok_and(|mut lists| lists.give(piece, size))
        };
        if outside(|| LISTS.try_with(give)) == Ok(true) {
            return;
        }
        // SAFETY: as the caller says.
        unsafe { System.dealloc(piece, layout) }
    }
}
