//! How much memory the program holds: what it has requested from the allocator, and what the system
//! has given it.

use std::{
    alloc::{GlobalAlloc, Layout},
    fs,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use joint_benches::allocator::Allocator;

/// The allocator, and a count of the bytes that are allocated.
struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promises are those that this needs.
        unsafe { Allocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are those that this needs; the block came from there.
        unsafe { Allocator.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size, Relaxed);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are those that this needs; the block came from there.
        unsafe { Allocator.realloc(block, layout, size) }
    }
}

/// Bytes at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    live: usize,
    resident: Option<usize>,
}

impl Memory {
    pub(crate) fn now() -> Self {
        Self {
            live: LIVE.load(Relaxed),
            resident: resident(),
        }
    }

    /// The bytes since then, for each of `count`: live, and resident where that is known.
    pub(crate) fn each_since(self, before: Self, count: usize) -> (f64, Option<f64>) {
        let each = |now: usize, before: usize| (now as f64 - before as f64) / count as f64;
        let resident = self.resident.zip(before.resident);
        let resident = resident.map(|(now, before)| each(now, before));
        (each(self.live, before.live), resident)
    }
}

/// Reads how much is resident. Only Linux reports it, in a file.
fn resident() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}
