//! The heap of a normal build: the global allocator, with a small cache of blocks for each thread in front.
//!
//! Tasks, oneshots and boxed wakers come and go by the million, in few sizes. A block that is given back is kept by the thread
//! that gives it back, in a list for its size, and is the next to be handed out there. That takes a tenth of the instructions of
//! a general allocator, and no atomic operation. A thread keeps at most 1 MiB; it is given back to the global allocator when the
//! thread ends.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::{alloc::Layout, ptr::NonNull};

/// What all blocks of one size are aligned to, so that one may be used again for another type.
const ALIGN: usize = 8;

/// The layout that a `T` is allocated with.
const fn layout<T>() -> Layout {
    let layout = Layout::new::<T>();
    assert!(
        layout.size() != 0,
        "only types with a size are put on the heap"
    );
    if layout.align() > ALIGN {
        return layout;
    }
    match Layout::from_size_align(layout.size().next_multiple_of(ALIGN), ALIGN) {
        Ok(rounded) => rounded,
        Err(_) => layout,
    }
}

/// A block for one `T`, not initialised. Ends the program by `handle_alloc_error` when there is none.
#[inline]
pub(crate) fn allocate<T>() -> NonNull<T> {
    let layout = const { layout::<T>() };
    if let Some(block) = cache::take(layout) {
        return block.cast();
    }
    // SAFETY: the layout's size is not zero, as `layout` asserts.
    let block = unsafe { alloc(layout) };
    NonNull::new(block.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives a block back.
///
/// # Safety
/// `block` came from [`allocate`] with the same `T`, and nobody uses it any more.
#[inline]
pub(crate) unsafe fn release<T>(block: NonNull<T>) {
    let layout = const { layout::<T>() };
    // SAFETY: the caller got the block from `allocate::<T>`, which used this layout, and gives it up.
    if unsafe { cache::put(block.cast(), layout) } {
        return;
    }
    // SAFETY: as above; the cache did not take it.
    unsafe { dealloc(block.as_ptr().cast(), layout) }
}

#[cfg(all(feature = "std", not(miri)))]
mod cache {
    use core::{alloc::Layout, cell::Cell, ptr::NonNull};

    use super::{ALIGN, dealloc};

    /// Larger blocks are rare, and their price is in filling them.
    const LARGEST: usize = 256;
    /// How many bytes a thread keeps: some ten thousand tasks, which come and go in bursts.
    const KEPT: usize = 1024 * 1024;

    /// A block that is kept: the place of the next.
    struct Free {
        next: Option<NonNull<Free>>,
    }

    /// The kept blocks of one size, the last one in front.
    type List = Cell<Option<NonNull<Free>>>;

    /// It has no drop, so that reaching it takes no look at whether it is alive.
    struct Cache {
        /// One for each multiple of `ALIGN`.
        lists: [List; LARGEST / ALIGN],
        /// How many bytes more it keeps. None before the thread's first block, which opens the cache, and none after its end.
        room: Cell<usize>,
        /// Set for good by the first block that is put.
        opened: Cell<bool>,
    }

    std::thread_local! {
        static CACHE: Cache = const {
            Cache {
                lists: [const { Cell::new(None) }; LARGEST / ALIGN],
                room: Cell::new(0),
                opened: Cell::new(false),
            }
        };
        static CLOSE: Close = const { Close };
    }

    /// Empties the cache at the thread's end.
    struct Close;

    #[inline]
    const fn is_kept(layout: Layout) -> bool {
        layout.align() == ALIGN && layout.size() <= LARGEST
    }

    /// A block that was allocated with this layout, if one is kept.
    #[inline]
    pub(super) fn take(layout: Layout) -> Option<NonNull<u8>> {
        if !is_kept(layout) {
            return None;
        }
        // A thread that is past its thread-locals goes to the allocator.
        CACHE.try_with(|cache| cache.pop(layout)).ok().flatten()
    }

    /// Keeps a block, or says no.
    ///
    /// # Safety
    /// The block was allocated with this layout, and is the caller's to give up.
    #[inline]
    pub(super) unsafe fn put(block: NonNull<u8>, layout: Layout) -> bool {
        if !is_kept(layout) {
            return false;
        }
        // SAFETY: passed on from the caller.
        CACHE
            .try_with(|cache| unsafe { cache.push(block, layout) })
            .unwrap_or(false)
    }

    impl Cache {
        #[inline]
        fn list(&self, layout: Layout) -> &List {
            &self.lists[layout.size() / ALIGN - 1]
        }

        #[inline]
        fn pop(&self, layout: Layout) -> Option<NonNull<u8>> {
            let list = self.list(layout);
            let block = list.get()?;
            // SAFETY: a kept block is ours, and `push` has written a `Free` into it.
            let free = unsafe { block.read() };
            list.set(free.next);
            self.room.set(self.room.get() + layout.size());
            Some(block.cast())
        }

        /// # Safety
        /// As for `put`; the layout is kept.
        #[inline]
        unsafe fn push(&self, block: NonNull<u8>, layout: Layout) -> bool {
            if self.room.get() < layout.size() && !self.open() {
                return false;
            }
            let list = self.list(layout);
            let block = block.cast::<Free>();
            let next = list.get();
            // SAFETY: a multiple of `ALIGN`, which is not 0, has room for a pointer and is aligned for it.
            unsafe { block.write(Free { next }) };
            list.set(Some(block));
            self.room.set(self.room.get() - layout.size());
            true
        }

        /// Makes room, if the thread has made none before. A thread that is past its thread-locals keeps nothing.
        #[cold]
        fn open(&self) -> bool {
            let opens = !self.opened.replace(true) && CLOSE.try_with(|_| ()).is_ok();
            if opens {
                self.room.set(KEPT);
            }
            opens
        }

        /// Gives all back, and keeps nothing any more.
        fn close(&self) {
            for size in (ALIGN..=LARGEST).step_by(ALIGN) {
                let layout = Layout::from_size_align(size, ALIGN).expect("at most `LARGEST`");
                while let Some(block) = self.pop(layout) {
                    // SAFETY: only blocks of this layout are put into this list.
                    unsafe { dealloc(block.as_ptr(), layout) };
                }
            }
            self.room.set(0);
        }
    }

    impl Drop for Close {
        fn drop(&mut self) {
            let _ = CACHE.try_with(Cache::close);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::{
            super::{allocate, release},
            KEPT,
        };
        use alloc::vec::Vec;

        #[test]
        fn a_block_is_used_again_by_another_type_of_its_size() {
            let first = allocate::<[u32; 3]>();
            // SAFETY: just allocated as that type.
            unsafe { release(first) };
            let second = allocate::<[u64; 2]>();
            assert_eq!(first.cast(), second);
            // SAFETY: just allocated as that type.
            unsafe { release(second) };
        }

        #[test]
        fn more_than_a_thread_keeps_goes_back_to_the_allocator() {
            let blocks: Vec<_> = (0..=KEPT / 64).map(|_| allocate::<[u64; 8]>()).collect();
            for block in blocks {
                // SAFETY: just allocated as that type.
                unsafe { release(block) };
            }
            let layout = super::Layout::new::<[u64; 8]>();
            let kept = core::iter::from_fn(|| super::take(layout));
            assert_eq!(kept.count(), KEPT / layout.size());
        }
    }
}

#[cfg(not(all(feature = "std", not(miri))))]
mod cache {
    use core::{alloc::Layout, ptr::NonNull};

    pub(super) fn take(_layout: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    /// None; as its namesake.
    pub(super) unsafe fn put(_block: NonNull<u8>, _layout: Layout) -> bool {
        false
    }
}
