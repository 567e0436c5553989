//! An allocator that counts, for each thread; and a value that must not leak.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// Counts what each thread allocates and gives back.
struct Counting;

thread_local! {
    pub(crate) static COUNT: Cell<Count> = const { Cell::new(Count { allocated: 0, live: 0 }) };
}

#[derive(Clone, Copy)]
pub(crate) struct Count {
    pub(crate) allocated: usize,
    pub(crate) live: isize,
}

fn count(allocated: usize, live: isize) {
    // A thread that is past its thread-locals is none that a test looks at.
    let _ = COUNT.try_with(|count| {
        let before = count.get();
        count.set(Count {
            allocated: before.allocated + allocated,
            live: before.live + live,
        });
    });
}

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, 1);
        // SAFETY: passed on from the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, -1);
        // SAFETY: passed on from the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Its destructor panics.
pub(crate) struct Bomb(
    #[expect(dead_code, reason = "memory that must be given back")] pub(crate) Box<u8>,
);

impl Drop for Bomb {
    fn drop(&mut self) {
        // Unwinds without the hook, which would allocate for its report.
        std::panic::resume_unwind(Box::new(()));
    }
}
