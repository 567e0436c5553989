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

/// The kept blocks of one size, newest first.
type List = Cell<Option<NonNull<Free>>>;

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
    /// One list for each size.
    lists: [List; SIZES],
    /// How many bytes it may keep.
    most: isize,
    /// How many more bytes it may keep. 0 unless it is open. Less than 0 if it took a batch when it
    /// was full of other blocks.
    room: Cell<isize>,
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

impl Cache {
    /// Creates a cache that keeps up to `most` bytes, or up to a batch more while its thread uses
    /// up the batch.
    pub(crate) const fn new(most: usize) -> Self {
        assert!(
            most <= isize::MAX as usize,
            "a cache keeps at most half of the memory"
        );
        Self {
            lists: [const { Cell::new(None) }; SIZES],
            most: most as isize,
            room: Cell::new(0),
            state: Cell::new(State::New),
        }
    }

    #[inline]
    fn list(&self, layout: Layout) -> &List {
        &self.lists[index(layout)]
    }

    /// Returns the last block that was put with this layout, or one from the depot, if there is
    /// any. The first call of this or of [`put`](Self::put) asks `will_close` whether the cache
    /// will be closed. If not, the cache never keeps anything.
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
        match self.pop(layout) {
            None => self.fetch(layout, depot, will_close),
            kept => kept,
        }
    }

    #[inline]
    fn pop(&self, layout: Layout) -> Option<NonNull<u8>> {
        let list = self.list(layout);
        let block = list.get()?;
        // SAFETY: a kept block is ours, and has been written by `put`.
        let free = unsafe { block.read() };
        list.set(free.next);
        self.grow(layout.size());
        Some(block.cast())
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
        if !self.is_open(will_close) {
            return None;
        }
        let first = depot.take(layout)?;
        self.list(layout).set(Some(first));
        self.shrink(blocks * layout.size());
        self.pop(layout)
    }

    /// Keeps a block if there is room, and returns whether it does. To make room, other blocks of
    /// this layout go to the depot.
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
        if !is_kept(layout) || !self.has_room(layout) && !self.make_room(layout, depot, will_close)
        {
            return false;
        }
        let list = self.list(layout);
        let block = block.cast::<Free>();
        let next = list.get();
        // SAFETY: a size that is a multiple of `ALIGN` and not 0 has room for an aligned pointer.
        unsafe { block.write(Free { next }) };
        list.set(Some(block));
        self.shrink(layout.size());
        true
    }

    #[inline]
    fn has_room(&self, layout: Layout) -> bool {
        self.room.get() >= layout.size() as isize
    }

    #[inline]
    fn grow(&self, bytes: usize) {
        self.room.set(self.room.get() + bytes as isize);
    }

    #[inline]
    fn shrink(&self, bytes: usize) {
        self.room.set(self.room.get() - bytes as isize);
    }

    /// Opens a new cache, or gives a batch from an open one to the depot. Returns whether there is
    /// now room for a block.
    #[cold]
    fn make_room(&self, layout: Layout, depot: &Depot, will_close: impl FnOnce() -> bool) -> bool {
        self.is_open(will_close)
            && (self.has_room(layout) || self.give(layout, depot) && self.has_room(layout))
    }

    /// Gives the newest blocks of this layout to the depot, if there are enough and it has room.
    fn give(&self, layout: Layout, depot: &Depot) -> bool {
        let list = self.list(layout);
        let (Some(first), Some(blocks)) = (list.get(), depot.batch(layout)) else {
            return false;
        };
        let mut last = first;
        for _ in 1..blocks {
            // SAFETY: a kept block is ours, and has been written by `put`.
            let Some(next) = (unsafe { last.read() }).next else {
                return false;
            };
            last = next;
        }
        if !depot.reserve() {
            return false;
        }
        // SAFETY: as above.
        let rest = unsafe { last.replace(Free { next: None }) }.next;
        list.set(rest);
        // SAFETY: these are that many blocks of this layout, and the list no longer has them.
        unsafe { depot.give(layout, first) };
        self.grow(blocks * layout.size());
        true
    }

    /// Opens the cache if it is new and `will_close`. Returns whether it is open.
    fn is_open(&self, will_close: impl FnOnce() -> bool) -> bool {
        if self.state.get() == State::New {
            // `will_close` may use the cache.
            self.state.set(State::Closed);
            if will_close() {
                self.state.set(State::Open);
                self.room.set(self.most);
            }
        }
        self.state.get() == State::Open
    }

    /// Gives all blocks back to where they were allocated, and keeps nothing from now on.
    pub(crate) fn close(&self, mut give_back: impl FnMut(NonNull<u8>, Layout)) {
        for size in (ALIGN..=LARGEST).step_by(ALIGN) {
            let layout =
                Layout::from_size_align(size, ALIGN).expect("the size is at most `LARGEST`");
            while let Some(block) = self.pop(layout) {
                give_back(block, layout);
            }
        }
        self.state.set(State::Closed);
        self.room.set(0);
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

    #[test]
    fn what_one_cache_has_no_room_for_goes_to_another_a_batch_at_a_time() {
        const BATCH: usize = 4;
        let layout = layout(16);
        let depot = Depot::new(3, BATCH * 16 + 8);
        let (full, empty) = (Cache::new(5 * 16), Cache::new(5 * 16));
        // Three batches in the depot, and then as many blocks as the cache may keep.
        let blocks = (0..100).filter(|_| put_beside(&depot, &full, layout));
        assert_eq!(blocks.count(), 3 * BATCH + 5);
        let taken: BTreeSet<_> =
            core::iter::from_fn(|| empty.take(layout, &depot, || true)).collect();
        assert_eq!(taken.len(), 3 * BATCH);
        for block in taken {
            // SAFETY: it was allocated with this layout, and was taken out.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
        // There is room for another now.
        let blocks = (0..100).filter(|_| put_beside(&depot, &full, layout));
        assert_eq!(blocks.count(), 3 * BATCH);
        assert_eq!(close(&full).len(), 5);
        let last = Cache::new(0);
        let block = last.take(layout, &depot, || true).unwrap();
        // SAFETY: it was allocated with this layout, and was taken out.
        unsafe { dealloc(block.as_ptr(), layout) };
        // A cache that has no room keeps what is left of its batch, and no more.
        assert!(!put(&last, layout));
        assert_eq!(close(&last).len(), BATCH - 1);
        assert!(last.take(layout, &depot, || true).is_none(), "it is closed");
        for _ in 0..2 {
            let next = Cache::new(0);
            let block = next.take(layout, &depot, || true).unwrap();
            // SAFETY: it was allocated with this layout, and was taken out.
            unsafe { dealloc(block.as_ptr(), layout) };
            close(&next);
        }
        assert!(Cache::new(0).take(layout, &depot, || true).is_none());
    }

    #[test]
    fn a_cache_that_will_not_be_closed_takes_nothing_from_the_depot() {
        let layout = layout(32);
        let depot = Depot::new(1, 64);
        let full = Cache::new(64);
        assert!((0..4).all(|_| put_beside(&depot, &full, layout)));
        assert!(Cache::new(64).take(layout, &depot, || false).is_none());
        let other = Cache::new(64);
        let block = other.take(layout, &depot, || true).unwrap();
        // SAFETY: it was allocated with this layout, and was taken out.
        unsafe { dealloc(block.as_ptr(), layout) };
        assert_eq!((close(&full).len(), close(&other).len()), (2, 1));
    }

    #[test]
    fn only_whole_batches_of_one_size_travel() {
        let depot = Depot::new(9, 4 * 32);
        let cache = Cache::new(10 * 32);
        assert!((0..7).all(|_| put_beside(&depot, &cache, layout(32))));
        assert!((0..3).all(|_| put_beside(&depot, &cache, layout(24))));
        // There is room for three more of 8, whose blocks never travel.
        assert!((0..3).all(|_| put_beside(&depot, &cache, layout(8))));
        assert!(!put_beside(&depot, &cache, layout(8)));
        assert!(!put_beside(&depot, &cache, layout(24)), "no batch");
        assert!(put_beside(&depot, &cache, layout(32)), "a batch of 4");
        let other = Cache::new(0);
        for size in [8, 24] {
            assert!(other.take(layout(size), &depot, || true).is_none());
        }
        let block = other.take(layout(32), &depot, || true).unwrap();
        // SAFETY: it was allocated with this layout, and was taken out.
        unsafe { dealloc(block.as_ptr(), layout(32)) };
        assert_eq!((close(&cache).len(), close(&other).len()), (4 + 3 + 3, 3));
    }
}
