//! io_uring beside threads and beside epoll: files that tasks read, and connections that echo, on
//! one processor. Each contestant does the same with buffers of its own. Linux only.

#[cfg(target_os = "linux")]
mod contestants;

use std::alloc::{GlobalAlloc, Layout};

use joint_benches::allocator;

const PAGE: usize = 4_096;

/// The allocator of the program, by which a buffer of a page is aligned as `O_DIRECT` wants it.
struct Aligned;

#[global_allocator]
static ALLOCATOR: Aligned = Aligned;

impl Aligned {
    fn layout(layout: Layout) -> Layout {
        match layout.size() == PAGE {
            true => layout.align_to(PAGE).expect("a page is small"),
            false => layout,
        }
    }
}

// SAFETY: a block is freed with the layout with which it was allocated, by the size that both have.
unsafe impl GlobalAlloc for Aligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on from the caller.
        unsafe { allocator::Allocator.alloc(Self::layout(layout)) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: passed on from the caller.
        unsafe { allocator::Allocator.dealloc(block, Self::layout(layout)) }
    }
}

#[cfg(target_os = "linux")]
fn main() {
    use joint_benches::{processors::Processors, table};
    use std::time::Duration;

    if let Err(error) = joint_ring::Ring::new() {
        println!("skipped: {error}");
        return;
    }
    let processors = Processors::of_this_process();
    let table = table::Table::new("io_uring, one worker", Duration::from_secs(5));
    let table = processors.on_first(1, || contestants::all(table));
    table::main("ring", &[table.on_first_of(processors)], |_, _| ());
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: only Linux has io_uring");
}
