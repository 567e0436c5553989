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

/// The number of strands in a list, a power of two.
const STRANDS: usize = 8;

/// The content of a kept block: the address of the next one in its strand.
pub(super) struct Free {
    next: Option<NonNull<Free>>,
}

/// The kept blocks of one size, a stack.
///
/// Blocks that are freed in another order than they were allocated in lie in memory in no order. If
/// each block had the address of the next, a thread whose processor has other things in its cache
/// would wait for them one after the other. The blocks are therefore put on several strands in
/// turn, and the processor, which knows the addresses of the next `STRANDS` of them, fetches these
/// at the same time.
struct List {
    /// The last block of each strand.
    strands: [Cell<Option<NonNull<Free>>>; STRANDS],
    /// How many blocks all strands have. The next one goes to the strand of that number, modulo
    /// their number.
    count: Cell<usize>,
    /// How many blocks the strands may have. 0 unless the cache is open.
    most: Cell<usize>,
    /// A batch from the depot, of which some blocks may have been taken. It counts against `most`.
    batch: Cell<Option<NonNull<Free>>>,
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

    /// Takes a block from the last batch of the depot, or from the next one. The strands are empty.
    #[inline(never)]
    fn fetch(
        &self,
        layout: Layout,
        depot: &Depot,
        will_close: impl FnOnce() -> bool,
    ) -> Option<NonNull<u8>> {
        let list = self.list(layout);
        if let Some(block) = list.pop_of_batch() {
            return Some(block);
        }
        let blocks = depot.batch(layout)?;
        if !self.is_open(will_close) || list.most.get() < blocks {
            return None;
        }
        list.batch.set(Some(depot.take(layout)?));
        list.most.set(list.most.get() - blocks);
        list.pop_of_batch()
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
        if !list.has_room() && !self.make_room(layout, depot, will_close) {
            return false;
        }
        // SAFETY: a size that is a multiple of `ALIGN` and not 0 has room for an aligned pointer.
        unsafe { list.push(block.cast()) };
        true
    }

    /// Opens a new cache, or gives a batch from an open one to the depot. Returns whether there is
    /// now room for a block.
    #[cold]
    fn make_room(&self, layout: Layout, depot: &Depot, will_close: impl FnOnce() -> bool) -> bool {
        if !self.is_open(will_close) {
            return false;
        }
        let list = self.list(layout);
        if !list.has_room() {
            self.give(layout, depot);
        }
        list.has_room()
    }

    /// Gives a batch from a full list to the depot, if that has room.
    fn give(&self, layout: Layout, depot: &Depot) {
        let list = self.list(layout);
        let Some(blocks) = depot.batch(layout) else {
            return;
        };
        if blocks > list.count.get() || !depot.reserve(layout) {
            return;
        }
        let mut first = None;
        for _ in 0..blocks {
            let block = list.pop().expect("they have been counted").cast::<Free>();
            // SAFETY: a kept block is ours, and has room for a pointer.
            unsafe { block.write(Free { next: first }) };
            first = Some(block);
        }
        let first = first.expect("a batch has at least one block");
        // SAFETY: these are that many blocks of this layout, and the list no longer has them.
        unsafe { depot.give(layout, first) };
    }

    /// Opens the cache if it is new and `will_close`. Returns whether it is open.
    fn is_open(&self, will_close: impl FnOnce() -> bool) -> bool {
        if self.state.get() == State::New {
            // `will_close` may use the cache.
            self.state.set(State::Closed);
            if will_close() {
                self.state.set(State::Open);
                for (index, list) in self.lists.iter().enumerate() {
                    list.most.set(self.most / layout_of(index).size());
                }
            }
        }
        self.state.get() == State::Open
    }

    /// Gives all blocks back to where they were allocated, and keeps nothing from now on, although
    /// `give_back` may use the cache.
    pub(crate) fn close(&self, mut give_back: impl FnMut(NonNull<u8>, Layout)) {
        self.state.set(State::Closed);
        // A block that is taken from a batch makes room, so no list keeps its batch either.
        let batches = self.lists.each_ref().map(|list| {
            list.most.set(0);
            Cell::new(list.batch.take())
        });
        for (index, (list, batch)) in self.lists.iter().zip(&batches).enumerate() {
            while let Some(block) = list.pop().or_else(|| pop(batch)) {
                give_back(block, layout_of(index));
            }
        }
    }
}

impl List {
    const fn new() -> Self {
        Self {
            strands: [const { Cell::new(None) }; STRANDS],
            count: Cell::new(0),
            most: Cell::new(0),
            batch: Cell::new(None),
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.count.get() < self.most.get()
    }

    #[inline]
    fn strand(&self, number: usize) -> &Cell<Option<NonNull<Free>>> {
        &self.strands[number % STRANDS]
    }

    /// # Safety
    /// The block is the caller's to give up, and has room for an aligned pointer.
    #[inline]
    unsafe fn push(&self, block: NonNull<Free>) {
        let count = self.count.get();
        let strand = self.strand(count);
        // SAFETY: passed on from the caller.
        unsafe { block.write(Free { next: strand.get() }) };
        strand.set(Some(block));
        self.count.set(count + 1);
    }

    #[inline]
    fn pop(&self) -> Option<NonNull<u8>> {
        let before = self.count.get().checked_sub(1)?;
        let block = pop(self.strand(before))?;
        self.count.set(before);
        Some(block)
    }

    /// Takes the next block of the batch from the depot.
    #[inline]
    fn pop_of_batch(&self) -> Option<NonNull<u8>> {
        let block = pop(&self.batch)?;
        self.most.set(self.most.get() + 1);
        Some(block)
    }
}

/// Takes the first of the blocks that are linked behind each other.
#[inline]
fn pop(first: &Cell<Option<NonNull<Free>>>) -> Option<NonNull<u8>> {
    let block = first.get()?;
    // SAFETY: a kept block is its thread's, and has been written when it was put.
    let free = unsafe { block.read() };
    first.set(free.next);
    Some(block.cast())
}

#[cfg(test)]
mod tests {
    use alloc::{
        alloc::{alloc, dealloc},
        collections::BTreeSet,
        vec::Vec,
    };

    use super::{ALIGN, Cache, Depot, LARGEST, Layout, NonNull, STRANDS};

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
        let blocks: Vec<_> = (0..3 * STRANDS + 1).map(|_| allocate(layout)).collect();
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
    fn what_is_given_back_while_it_closes_cannot_be_put_into_another_list() {
        let (cache, sizes) = (Cache::new(64), [8, 16, 32].map(layout));
        assert!(sizes.iter().all(|&layout| put(&cache, layout)));
        let mut back = Vec::new();
        cache.close(|block, layout| {
            // SAFETY: a cache gives each block back with the layout that it was put with.
            unsafe { dealloc(block.as_ptr(), layout) };
            back.push(layout);
            assert!(!sizes.iter().any(|&layout| put(&cache, layout)));
        });
        assert_eq!(back, sizes);
    }

    #[test]
    fn a_batch_makes_no_room_in_a_cache_that_closes() {
        let (depot, small, layout) = (Depot::new(64, 64), layout(8), layout(32));
        let (full, cache) = (Cache::new(64), Cache::new(64));
        let puts = (0..9).filter(|_| put_beside(&depot, &full, layout));
        assert_eq!(puts.count(), 4);
        assert!(put(&cache, small) && take_beside(&depot, &cache, layout));
        let mut back = Vec::new();
        cache.close(|block, given| {
            // SAFETY: a cache gives each block back with the layout that it was put with.
            unsafe { dealloc(block.as_ptr(), given) };
            back.push(given);
            take_beside(&depot, &cache, layout);
            assert!(!put_beside(&depot, &cache, layout));
        });
        assert_eq!(back, [small, layout]);
        assert!(!put_beside(&depot, &cache, layout));
        close(&full);
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
