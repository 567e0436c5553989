//! Blocks of memory, which each thread keeps for its next tasks: the cheapest allocator for one
//! thread. Lists of blocks go from a thread that only frees to one that only takes.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::Cell,
    ptr::{NonNull, null_mut},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// The sizes are multiples of this, and it is the alignment.
const UNIT: usize = 16;
/// Larger blocks are not kept.
const KINDS: usize = 32;
/// No list becomes longer, because a thread that only frees would keep everything.
const MOST: usize = 16_384;
/// A list of this length goes to another thread, if none is on the way.
const GIVEN: usize = 256;

struct Free {
    next: *mut Free,
    /// The length of the list that begins here.
    length: usize,
}

thread_local! {
    static FREE: [Cell<*mut Free>; KINDS] = const { [const { Cell::new(null_mut()) }; KINDS] };
}

/// Lists on the way from one thread to another.
static ON_THE_WAY: [AtomicPtr<Free>; KINDS] = [const { AtomicPtr::new(null_mut()) }; KINDS];

/// Returns the first block of the thread's list, or of one that is on the way.
#[inline]
fn first(kind: usize) -> Option<NonNull<Free>> {
    let first = FREE.with(|free| free[kind].get());
    NonNull::new(first).or_else(|| {
        let on_the_way = &ON_THE_WAY[kind];
        NonNull::new(on_the_way.load(Relaxed))?;
        NonNull::new(on_the_way.swap(null_mut(), Acquire))
    })
}

const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size.next_multiple_of(UNIT), UNIT) {
        Ok(layout) => layout,
        Err(_) => panic!("no task is that large"),
    }
}

/// Returns a block for a value of this size.
#[inline]
pub(super) fn take(size: usize) -> NonNull<u8> {
    let kind = size.div_ceil(UNIT);
    if kind < KINDS {
        if let Some(first) = first(kind) {
            // SAFETY: the list's blocks are free, and `put` has written to them.
            let next = unsafe { first.as_ref() }.next;
            FREE.with(|free| free[kind].set(next));
            return first.cast();
        }
    }
    let layout = layout(size);
    // SAFETY: a task has a header, so the size is not zero.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Takes a block back.
///
/// # Safety
///
/// The block is from [`take`] with the same size, and is not used any more.
#[inline]
pub(super) unsafe fn put(block: NonNull<u8>, size: usize) {
    let kind = size.div_ceil(UNIT);
    if kind < KINDS {
        let next = FREE.with(|free| free[kind].get());
        // SAFETY: if it is not null, it is a free block that this function has written to.
        let length = unsafe { next.as_ref() }.map_or(0, |next| next.length);
        if length < MOST {
            let first = block.cast::<Free>().as_ptr();
            let length = length + 1;
            // SAFETY: a block has at least 16 bytes, and the caller no longer uses it.
            unsafe { first.write(Free { next, length }) };
            let is_given = length % GIVEN == 0 && give(kind, first);
            FREE.with(|free| free[kind].set(if is_given { null_mut() } else { first }));
            return;
        }
    }
    // SAFETY: `take` has allocated it with this layout.
    unsafe { dealloc(block.as_ptr(), layout(size)) };
}

/// Gives a list to another thread, if none is on the way.
#[cold]
fn give(kind: usize, list: *mut Free) -> bool {
    let given = ON_THE_WAY[kind].compare_exchange(null_mut(), list, Release, Relaxed);
    given.is_ok()
}
