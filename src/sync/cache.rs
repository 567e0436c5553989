//! [`Cache`]: the blocks of memory that a thread keeps for reuse, in a list for each size.
//!
//! A cache belongs to one thread, so it takes no lock and makes no atomic operation. Only a cache
//! that has no more room, or none of the blocks that its thread needs, turns to the [depot](Depot)
//! of all threads. Its user (`heap.rs`) allocates the blocks, and frees those that are not kept, so
//! models and tests can run it unchanged on a heap of their own.

use core::{alloc::Layout, cell::Cell, ptr::NonNull};

use super::depot::Depot;

/// The alignment of kept blocks. Their sizes are multiples of it.
pub(super) const ALIGN: usize = 8;

/// The largest size that is kept. Larger blocks are rare, and filling them costs more than
/// allocating them.
const LARGEST: usize = 256;

/// How many sizes are kept.
pub(super) const SIZES: usize = LARGEST / ALIGN;

/// The content of a kept block: the address of the next one.
pub(super) struct Free {
    next: Option<NonNull<Free>>,
}

/// The kept blocks of one size.
struct List {
    /// The block that was put last.
    first: Cell<Option<NonNull<Free>>>,
    /// How many more blocks may be kept. 0 unless the cache is open.
    room: Cell<usize>,
}

/// Whether a cache may keep blocks.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Nothing has been taken or put yet.
    New,
    Open,
    Closed,
}

/// The cache of one thread. It has no drop, so that a thread-local with a cache is accessed without
/// a check whether it is alive. Its user must [`close`](Cache::close) it.
pub(crate) struct Cache {
    lists: [List; SIZES],
    /// How many bytes of each size it may keep.
    most: usize,
    state: Cell<State>,
}

#[inline]
const fn is_kept(layout: Layout) -> bool {
    layout.align() == ALIGN && layout.size() <= LARGEST
}

/// Returns the place of a kept layout's size among all sizes.
#[inline]
pub(super) const fn index(layout: Layout) -> usize {
    layout.size() / ALIGN - 1
}

/// Returns the layout of the blocks in a list.
const fn layout_of(index: usize) -> Layout {
    match Layout::from_size_align((index + 1) * ALIGN, ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("the largest size that is kept is not that large"),
    }
}

impl Cache {
    /// Creates a cache that keeps up to `most` bytes of each size.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            lists: [const { List::new() }; SIZES],
            most,
            state: Cell::new(State::New),
        }
    }

    #[inline]
    fn list(&self, layout: Layout) -> &List {
        &self.lists[index(layout)]
    }

    /// Returns the last block that was put with this layout, or one from the depot, if there is
    /// any. The first time that it matters, `will_close` is asked whether the cache will be closed.
    /// If not, the cache never keeps anything.
    #[inline]
    pub(crate) fn take(
        &self,
        layout: Layout,
        depot: &Depot,
        will_close: impl FnOnce() -> bool,
    ) -> Option<NonNull<u8>> {
        if !is_kept(layout) {
            return None;
        }
        match self.list(layout).pop() {
            None => self.fetch(layout, depot, will_close),
            kept => kept,
        }
    }

    /// Takes a batch from the depot, and a block from the batch. The cache has no such block.
    #[cold]
    fn fetch(
        &self,
        layout: Layout,
        depot: &Depot,
        will_close: impl FnOnce() -> bool,
    ) -> Option<NonNull<u8>> {
        let blocks = depot.batch(layout)?;
        let list = self.list(layout);
        if !self.is_open(will_close) || list.room.get() < blocks {
            return None;
        }
        let first = depot.take(layout)?;
        list.first.set(Some(first));
        list.room.set(list.room.get() - blocks);
        list.pop()
    }

    /// Keeps a block if there is room, and returns whether it does. To make room, other blocks of
    /// this layout go to the depot. `will_close` is as in [`take`](Self::take).
    ///
    /// # Safety
    /// The block was allocated with this layout, whose size is a multiple of its alignment and not
    /// 0, and is the caller's to give up.
    #[inline]
    pub(crate) unsafe fn put(
        &self,
        block: NonNull<u8>,
        layout: Layout,
        depot: &Depot,
        will_close: impl FnOnce() -> bool,
    ) -> bool {
        if !is_kept(layout) {
            return false;
        }
        let list = self.list(layout);
        if list.room.get() == 0 && !self.make_room(layout, depot, will_close) {
            return false;
        }
        let block = block.cast::<Free>();
        let next = list.first.get();
        // SAFETY: a size that is a multiple of `ALIGN` and not 0 has room for an aligned pointer.
        unsafe { block.write(Free { next }) };
        list.first.set(Some(block));
        list.room.set(list.room.get() - 1);
        true
    }

    /// Opens a new cache, or gives a batch from an open one to the depot. Returns whether there is
    /// now room for a block.
    #[cold]
    fn make_room(&self, layout: Layout, depot: &Depot, will_close: impl FnOnce() -> bool) -> bool {
        if !self.is_open(will_close) {
            return false;
        }
        if self.list(layout).room.get() == 0 {
            self.give(layout, depot);
        }
        self.list(layout).room.get() > 0
    }

    /// Gives a batch from a full list to the depot, if that has room.
    fn give(&self, layout: Layout, depot: &Depot) {
        let list = self.list(layout);
        let (Some(blocks), Some(first)) = (depot.batch(layout), list.first.get()) else {
            return;
        };
        if blocks > self.most / layout.size() || !depot.reserve(layout) {
            return;
        }
        let mut last = first;
        for _ in 1..blocks {
            // SAFETY: a kept block is ours, and has been written by `put`.
            let free = unsafe { last.read() };
            last = free.next.expect("a full list has a batch");
        }
        // SAFETY: as above.
        let rest = unsafe { last.replace(Free { next: None }) }.next;
        list.first.set(rest);
        // SAFETY: these are that many blocks of this layout, and the list no longer has them.
        unsafe { depot.give(layout, first) };
        list.room.set(list.room.get() + blocks);
    }

    /// Opens the cache if it is new and `will_close`. Returns whether it is open.
    fn is_open(&self, will_close: impl FnOnce() -> bool) -> bool {
        if self.state.get() == State::New {
            // `will_close` may use the cache.
            self.state.set(State::Closed);
            if will_close() {
                self.state.set(State::Open);
                for (index, list) in self.lists.iter().enumerate() {
                    list.room.set(self.most / layout_of(index).size());
                }
            }
        }
        self.state.get() == State::Open
    }

    /// Gives all blocks back to where they were allocated, and keeps nothing from now on.
    pub(crate) fn close(&self, mut give_back: impl FnMut(NonNull<u8>, Layout)) {
        self.state.set(State::Closed);
        for (index, list) in self.lists.iter().enumerate() {
            while let Some(block) = list.pop() {
                give_back(block, layout_of(index));
            }
            list.room.set(0);
        }
    }
}

impl List {
    const fn new() -> Self {
        Self {
            first: Cell::new(None),
            room: Cell::new(0),
        }
    }

    #[inline]
    fn pop(&self) -> Option<NonNull<u8>> {
        let block = self.first.get()?;
        // SAFETY: a kept block is its thread's, and has been written by `put`.
        let free = unsafe { block.read() };
        self.first.set(free.next);
        self.room.set(self.room.get() + 1);
        Some(block.cast())
    }
}

#[cfg(test)]
mod tests {
    use alloc::{
        alloc::{alloc, dealloc},
        collections::BTreeSet,
        vec::Vec,
    };

    use super::{ALIGN, Cache, Depot, LARGEST, Layout, NonNull};

    /// A depot without room.
    static FULL: Depot = Depot::new(0, 64);

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, ALIGN).unwrap()
    }

    fn allocate(layout: Layout) -> NonNull<u8> {
        // SAFETY: no test has a layout of size zero.
        NonNull::new(unsafe { alloc(layout) }).unwrap()
    }

    fn take(cache: &Cache, layout: Layout) -> Option<NonNull<u8>> {
        cache.take(layout, &FULL, || true)
    }

    /// Puts a fresh block, and frees it if it is not kept.
    fn put(cache: &Cache, layout: Layout) -> bool {
        put_beside(&FULL, cache, layout)
    }

    /// Does the same beside a depot.
    fn put_beside(depot: &Depot, cache: &Cache, layout: Layout) -> bool {
        let block = allocate(layout);
        // SAFETY: the block is fresh.
        let kept = unsafe { cache.put(block, layout, depot, || true) };
        if !kept {
            // SAFETY: it was allocated with this layout, and was not kept.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
        kept
    }

    /// Closes the cache, and returns the layouts of the blocks that it gave back.
    fn close(cache: &Cache) -> Vec<Layout> {
        let mut back = Vec::new();
        cache.close(|block, layout| {
            // SAFETY: a cache gives each block back with the layout that it was put with.
            unsafe { dealloc(block.as_ptr(), layout) };
            back.push(layout);
        });
        back
    }

    #[test]
    fn the_last_block_that_was_put_is_the_first_to_be_taken() {
        let (cache, layout) = (Cache::new(1000), layout(16));
        let blocks: Vec<_> = (0..5).map(|_| allocate(layout)).collect();
        for &block in &blocks {
            // SAFETY: the block is fresh.
            assert!(unsafe { cache.put(block, layout, &FULL, || true) });
        }
        for &block in blocks.iter().rev() {
            assert_eq!(take(&cache, layout), Some(block));
            // SAFETY: the block has that size, and is ours again.
            unsafe { block.cast::<[u64; 2]>().write([u64::MAX; 2]) };
        }
        assert_eq!(take(&cache, layout), None);
        for block in blocks {
            // SAFETY: it was allocated with this layout, and was taken out.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
    }

    #[test]
    fn each_size_has_a_list_of_its_own_and_all_come_back_at_the_end() {
        let sizes = || (ALIGN..=LARGEST).step_by(ALIGN);
        let cache = Cache::new(isize::MAX as usize);
        for size in sizes() {
            assert!(put(&cache, layout(size)) && put(&cache, layout(size)));
        }
        for size in sizes() {
            let block = take(&cache, layout(size)).unwrap();
            // SAFETY: it was taken out.
            assert!(unsafe { cache.put(block, layout(size), &FULL, || unreachable!("open")) });
        }
        let back = close(&cache);
        assert_eq!(back.len(), 2 * sizes().count());
        let distinct: BTreeSet<_> = back.iter().map(|layout| layout.size()).collect();
        assert!(distinct.into_iter().eq(sizes()));
    }

    #[test]
    fn what_is_too_large_or_aligned_otherwise_is_not_kept() {
        let cache = Cache::new(isize::MAX as usize);
        assert!(!put(&cache, layout(LARGEST + ALIGN)));
        assert!(!put(&cache, Layout::from_size_align(64, 64).unwrap()));
        assert!(!put(&cache, Layout::from_size_align(4, 4).unwrap()));
        assert_eq!(take(&cache, layout(LARGEST + ALIGN)), None);
        assert!(close(&cache).is_empty());
    }

    #[test]
    fn it_keeps_as_many_bytes_as_it_may() {
        let (cache, layout) = (Cache::new(100), layout(32));
        let kept = (0..10).filter(|_| put(&cache, layout)).count();
        assert_eq!(kept, 3);
        let block = take(&cache, layout).unwrap();
        // SAFETY: it was taken out, which made room for it.
        assert!(unsafe { cache.put(block, layout, &FULL, || unreachable!("open")) });
        assert!(!put(&cache, layout));
        assert_eq!(close(&cache).len(), 3);
        let little = Cache::new(16);
        assert!(!put(&little, layout));
    }

    #[test]
    fn nothing_is_kept_after_the_end_or_where_nobody_will_close() {
        let (cache, layout) = (Cache::new(1000), layout(8));
        assert!(put(&cache, layout));
        assert_eq!(close(&cache).len(), 1);
        assert!(!put(&cache, layout));
        let unused = Cache::new(1000);
        assert!(close(&unused).is_empty());
        assert!(!put(&unused, layout));
        let endless = Cache::new(1000);
        let block = allocate(layout);
        // SAFETY: the block is fresh.
        assert!(!unsafe { endless.put(block, layout, &FULL, || false) });
        // SAFETY: it was allocated with this layout, and was not kept.
        unsafe { dealloc(block.as_ptr(), layout) };
        assert!(!put(&endless, layout), "`endless` is asked only once");
    }

    /// Takes a block beside a depot, and frees it. Returns whether there was one.
    fn take_beside(depot: &Depot, cache: &Cache, layout: Layout) -> bool {
        let block = cache.take(layout, depot, || true);
        if let Some(block) = block {
            // SAFETY: it was allocated with this layout, and was taken out.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
        block.is_some()
    }

    #[test]
    fn what_one_cache_has_no_room_for_goes_to_another_a_batch_at_a_time() {
        const BATCH: usize = 4;
        let layout = layout(16);
        let depot = Depot::new(3 * BATCH * 16, BATCH * 16);
        let (full, empty) = (Cache::new(5 * 16), Cache::new(5 * 16));
        // Three batches in the depot, and as many blocks as the cache may keep.
        let put = || {
            (0..100)
                .filter(|_| put_beside(&depot, &full, layout))
                .count()
        };
        assert_eq!(put(), 3 * BATCH + 5);
        let take = || {
            (0..100)
                .filter(|_| take_beside(&depot, &empty, layout))
                .count()
        };
        assert_eq!(take(), 3 * BATCH);
        assert_eq!(put(), 3 * BATCH, "there is room for as many again");
        assert!(take_beside(&depot, &empty, layout));
        assert_eq!(close(&empty).len(), BATCH - 1);
        assert!(!take_beside(&depot, &empty, layout), "it is closed");
        assert_eq!(close(&full).len(), 5);
        let last = Cache::new(BATCH * 16);
        assert_eq!(
            (0..100)
                .filter(|_| take_beside(&depot, &last, layout))
                .count(),
            2 * BATCH
        );
    }

    #[test]
    fn a_cache_exchanges_only_what_it_may_keep_and_will_give_back() {
        let layout = layout(32);
        let depot = Depot::new(64, 64);
        let full = Cache::new(64);
        assert_eq!(
            (0..9).filter(|_| put_beside(&depot, &full, layout)).count(),
            4
        );
        assert!(Cache::new(64).take(layout, &depot, || false).is_none());
        let little = Cache::new(63);
        assert!(!take_beside(&depot, &little, layout));
        assert!(put_beside(&depot, &little, layout));
        assert!(!put_beside(&Depot::new(64, 64), &little, layout));
        let other = Cache::new(64);
        assert!(take_beside(&depot, &other, layout));
        assert_eq!(
            [full, little, other].map(|cache| close(&cache).len()),
            [2, 1, 1]
        );
    }

    #[test]
    fn one_size_takes_no_room_from_another() {
        let depot = Depot::new(96, 96);
        let cache = Cache::new(96);
        let put = |size| {
            (0..99)
                .filter(|_| put_beside(&depot, &cache, layout(size)))
                .count()
        };
        assert_eq!([32, 24, 32].map(put), [6, 8, 0]);
        if size_of::<usize>() == 8 {
            assert_eq!(put(8), 12, "a block of 8 has no room for two addresses");
        }
        let other = Cache::new(96);
        let take = |size| {
            (0..99)
                .filter(|_| take_beside(&depot, &other, layout(size)))
                .count()
        };
        assert_eq!([32, 24].map(take), [3, 4]);
        close(&cache);
    }
}
