//! An allocator that counts; and a value that must not leak.
#![allow(dead_code, reason = "each test program uses its part of it")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicIsize, Ordering::Relaxed},
    },
};

/// Counts what each thread allocates and gives back, and the bytes of all threads.
struct Counting;

thread_local! {
    pub(crate) static COUNT: Cell<Count> = const { Cell::new(Count { allocated: 0, live: 0, bytes: 0 }) };
}

/// The bytes that all threads have taken and not given back.
pub(crate) static BYTES: AtomicIsize = AtomicIsize::new(0);

#[derive(Clone, Copy)]
pub(crate) struct Count {
    /// Blocks that were taken.
    pub(crate) allocated: usize,
    /// Blocks that were taken and not given back.
    pub(crate) live: isize,
    /// Bytes that were taken and not given back.
    pub(crate) bytes: isize,
}

fn count(allocated: usize, live: isize, bytes: isize) {
    BYTES.fetch_add(bytes, Relaxed);
    // A thread that is past its thread-locals is none that a test looks at.
    let _ = COUNT.try_with(|count| {
        let before = count.get();
        count.set(Count {
            allocated: before.allocated + allocated,
            live: before.live + live,
            bytes: before.bytes + bytes,
        });
    });
}

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, 1, layout.size() as isize);
        // SAFETY: passed on from the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, -1, -(layout.size() as isize));
        // SAFETY: passed on from the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// For tests that count what all threads have: one runs at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Its destructor panics.
pub(crate) struct Bomb(pub(crate) Box<u8>);

impl Drop for Bomb {
    fn drop(&mut self) {
        // Unwinds without the hook, which would allocate for its report.
        std::panic::resume_unwind(Box::new(()));
    }
}
