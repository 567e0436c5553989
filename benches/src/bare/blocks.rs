//! Blocks of memory, which each thread keeps for its next tasks: the cheapest allocator for one
//! thread.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::Cell,
    ptr::{NonNull, null_mut},
};

/// The sizes are multiples of this, and it is the alignment.
const UNIT: usize = 16;
/// Larger blocks are not kept.
const KINDS: usize = 32;
/// No list becomes longer, because a thread that only frees would keep everything.
const MOST: usize = 16_384;

struct Free {
    next: *mut Free,
    /// The length of the list that begins here.
    length: usize,
}

thread_local! {
    static FREE: [Cell<*mut Free>; KINDS] = const { [const { Cell::new(null_mut()) }; KINDS] };
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
        let first = FREE.with(|free| free[kind].get());
        if let Some(first) = NonNull::new(first) {
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
            let first = block.cast::<Free>();
            let length = length + 1;
            // SAFETY: a block has at least 16 bytes, and the caller no longer uses it.
            unsafe { first.write(Free { next, length }) };
            FREE.with(|free| free[kind].set(first.as_ptr()));
            return;
        }
    }
    // SAFETY: `take` has allocated it with this layout.
    unsafe { dealloc(block.as_ptr(), layout(size)) };
}
