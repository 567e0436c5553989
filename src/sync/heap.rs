//! The heap of a normal build: the global allocator, behind a small cache of blocks for each
//! thread.
//!
//! Programs allocate and free millions of tasks, oneshots and boxed wakers, which have few sizes.
//! The thread that frees a block keeps it in a list for its size, and uses it for its next
//! allocation. This takes a tenth of the instructions of a general allocator, and no atomic
//! operation. A thread keeps at most 1 MiB of each size, and frees it when the thread ends.
//! `cache.rs` has the lists.
//!
//! Where tasks are spawned by one thread and end on another, blocks would pile up on one and run
//! out on the other. Blocks that a thread has no room for therefore wait for a thread that has none
//! left, up to another 1 MiB of each size for all threads. They travel in batches of 4 KiB, each of
//! which takes a handful of atomic operations (`depot.rs`). Blocks that no thread needs are kept
//! until the program ends.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::{alloc::Layout, ptr::NonNull};

use super::cache::ALIGN;

/// Whether freed blocks are cached. Not under Miri, so that it sees every use of a freed block.
/// Miri runs the cache in separate tests.
const CACHED: bool = !cfg!(miri);

/// Returns the layout that a `T` is allocated with.
const fn layout<T>() -> Layout {
    let layout = Layout::new::<T>();
    assert!(layout.size() != 0, "a type of size zero needs no heap");
    if layout.align() > ALIGN {
        return layout;
    }
    match Layout::from_size_align(layout.size().next_multiple_of(ALIGN), ALIGN) {
        Ok(rounded) => rounded,
        Err(_) => layout,
    }
}

/// Allocates an uninitialised block for one `T`. Calls `handle_alloc_error` if there is no memory.
#[inline]
pub(crate) fn allocate<T>() -> NonNull<T> {
    let layout = const { layout::<T>() };
    if CACHED {
        if let Some(block) = kept::take(layout) {
            return block.cast();
        }
    }
    // SAFETY: the layout's size is not zero, as `layout` asserts.
    let block = unsafe { alloc(layout) };
    NonNull::new(block.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees a block.
///
/// # Safety
/// `block` came from [`allocate`] with the same `T`, and no one uses it after this.
#[inline]
pub(crate) unsafe fn release<T>(block: NonNull<T>) {
    let layout = const { layout::<T>() };
    // SAFETY: the caller got the block from `allocate::<T>`, which used this layout, and gives the
    // block up.
    if CACHED && unsafe { kept::put(block.cast(), layout) } {
        return;
    }
    // SAFETY: as above, and the cache did not take the block.
    unsafe { dealloc(block.as_ptr().cast(), layout) }
}

/// The calling thread's cache.
#[cfg(feature = "std")]
mod kept {
    use core::{alloc::Layout, ptr::NonNull};

    use super::{
        super::{cache::Cache, depot::Depot},
        dealloc,
    };

    /// How many bytes of each size a thread keeps. This is enough for bursts of some ten thousand
    /// tasks.
    const KEPT: usize = 1024 * 1024;
    /// How many bytes of each size wait for a thread that needs them.
    const WAITING: usize = KEPT;
    /// How many bytes go from one thread to another at a time.
    const BATCH: usize = 4096;

    static DEPOT: Depot = Depot::new(WAITING, BATCH);

    std::thread_local! {
        static CACHE: Cache = const { Cache::new(KEPT) };
        static CLOSE: Close = const { Close };
    }

    /// Closes the cache when the thread ends.
    struct Close;

    impl Drop for Close {
        fn drop(&mut self) {
            let _ = CACHE.try_with(|cache| {
                cache.close(|block, layout| {
                    // SAFETY: a kept block was allocated with that layout, and given up.
                    unsafe { dealloc(block.as_ptr(), layout) }
                });
            });
        }
    }

    /// Returns a kept block that was allocated with this layout, if there is one.
    #[inline]
    pub(super) fn take(layout: Layout) -> Option<NonNull<u8>> {
        // After its thread-locals are destroyed, a thread uses the allocator directly.
        CACHE
            .try_with(|cache| cache.take(layout, &DEPOT, will_close))
            .ok()
            .flatten()
    }

    /// Keeps a block if there is room. Returns whether it does.
    ///
    /// # Safety
    /// As for [`Cache::put`].
    #[inline]
    pub(super) unsafe fn put(block: NonNull<u8>, layout: Layout) -> bool {
        // After its thread-locals are destroyed, a thread keeps nothing.
        CACHE
            // SAFETY: passed on from the caller.
            .try_with(|cache| unsafe { cache.put(block, layout, &DEPOT, will_close) })
            .unwrap_or(false)
    }

    /// Whether the thread's cache will be closed, because its thread-locals are still to be
    /// destroyed.
    fn will_close() -> bool {
        CLOSE.try_with(|_| ()).is_ok()
    }

    #[cfg(test)]
    mod tests {
        use super::{
            super::{alloc, allocate, layout, release},
            Cache, Depot, KEPT, Layout, NonNull, WAITING, dealloc, put, take,
        };
        use alloc::vec::Vec;
        use std::{sync::mpsc::channel, thread};

        #[test]
        #[cfg_attr(miri, ignore = "under Miri each block is freed at once")]
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
        #[cfg_attr(miri, ignore = "under Miri each block is freed at once")]
        fn more_than_all_threads_keep_goes_back_to_the_allocator() {
            // No other test in this program uses blocks of this size.
            type Block = [u64; 32];
            let layout = layout::<Block>();
            let most = (KEPT + WAITING) / layout.size();
            let blocks: Vec<_> = (0..2 * most).map(|_| allocate::<Block>()).collect();
            for block in blocks {
                // SAFETY: just allocated as that type.
                unsafe { release(block) };
            }
            let kept: Vec<_> = core::iter::from_fn(|| take(layout)).collect();
            assert_eq!(kept.len(), most);
            for block in kept {
                // SAFETY: allocated with that layout, and taken out.
                unsafe { dealloc(block.as_ptr(), layout) };
            }
        }

        /// A block that is sent from one thread to another.
        struct Moved(NonNull<u64>);
        // SAFETY: the owner of this value is the only owner of the block.
        unsafe impl Send for Moved {}

        /// Under Miri, which detects races and leaks, this runs the real cache.
        #[test]
        fn blocks_that_travel_between_threads_are_used_by_one_and_given_back_at_the_end() {
            const ROUNDS: u64 = if cfg!(miri) { 50 } else { 10_000 };
            let layout = layout::<u64>();
            let fill = move |number: u64| {
                let block = take(layout).unwrap_or_else(|| {
                    // SAFETY: the size is not zero.
                    NonNull::new(unsafe { alloc(layout) }).unwrap()
                });
                // SAFETY: ours, and of that size.
                unsafe { block.cast::<u64>().write(number) };
                Moved(block.cast())
            };
            let empty = move |Moved(block): Moved| {
                // SAFETY: ours, and filled.
                let number = unsafe { block.read() };
                // SAFETY: allocated with that layout, and ours to give up.
                let kept = unsafe { put(block.cast(), layout) };
                assert!(kept, "the cache has room for the block");
                number
            };
            let (to_there, there) = channel();
            let (to_here, here) = channel();
            // Both threads must end, because that is part of the test.
            let answers = thread::spawn(move || {
                for moved in there {
                    to_here.send(fill(empty(moved) + 1)).unwrap();
                }
            });
            let asks = thread::spawn(move || {
                let mut answers = Vec::new();
                for number in 0..ROUNDS {
                    to_there.send(fill(number)).unwrap();
                    // Two of three are emptied as they arrive, and the rest at the end.
                    if number % 3 != 0 {
                        answers.extend(here.try_recv().map(empty));
                    }
                }
                drop(to_there);
                answers.extend(here.into_iter().map(empty));
                answers
            });
            assert!(asks.join().unwrap().into_iter().eq(1..=ROUNDS));
            answers.join().unwrap();
        }

        /// As above, and a depot between the threads.
        #[test]
        fn what_one_thread_gives_another_takes() {
            const ROUNDS: u64 = if cfg!(miri) { 60 } else { 20_000 };
            type Block = [u64; 2];
            let layout = layout::<Block>();
            let most = 2 * layout.size();
            let depot = Depot::new(3 * most, most);
            let free = |block: NonNull<u8>, layout: Layout| {
                // SAFETY: it was allocated with this layout, and given up.
                unsafe { dealloc(block.as_ptr(), layout) };
            };
            let (to_there, there) = channel::<Moved>();
            thread::scope(|scope| {
                scope.spawn(|| {
                    let cache = Cache::new(most);
                    for (round, Moved(block)) in (0..).zip(there) {
                        // SAFETY: ours, and filled.
                        assert_eq!(unsafe { block.read() }, round);
                        // SAFETY: allocated with that layout, and ours to give up.
                        if !unsafe { cache.put(block.cast(), layout, &depot, || true) } {
                            free(block.cast(), layout);
                        }
                    }
                    cache.close(free);
                });
                let cache = Cache::new(most);
                for round in 0..ROUNDS {
                    let block = cache.take(layout, &depot, || true).unwrap_or_else(|| {
                        // SAFETY: the size is not zero.
                        NonNull::new(unsafe { alloc(layout) }).unwrap()
                    });
                    // SAFETY: ours, and of that size.
                    unsafe { block.cast::<Block>().write([round; 2]) };
                    to_there.send(Moved(block.cast())).unwrap();
                }
                drop(to_there);
                cache.close(free);
            });
            // The blocks that are still in the depot.
            let last = Cache::new(most);
            while let Some(block) = last.take(layout, &depot, || true) {
                free(block, layout);
            }
        }
    }
}

#[cfg(not(feature = "std"))]
mod kept {
    use core::{alloc::Layout, ptr::NonNull};

    pub(super) fn take(_layout: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    /// There are no requirements. The function is unsafe only because the one that it replaces is.
    pub(super) unsafe fn put(_block: NonNull<u8>, _layout: Layout) -> bool {
        false
    }
}
