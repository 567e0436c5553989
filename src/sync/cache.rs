//! [`Cache`]: the blocks of memory that a thread keeps for reuse, in a list for each size.
//!
//! A cache belongs to one thread, so it takes no lock and makes no atomic operation. Its user
//! (`heap.rs`) allocates the blocks, and frees those that are not kept, so models and tests can run
//! it unchanged on a heap of their own.

use core::{alloc::Layout, cell::Cell, ptr::NonNull};

/// The alignment of kept blocks. Their sizes are multiples of it.
pub(super) const ALIGN: usize = 8;

/// The largest size that is kept. Larger blocks are rare, and filling them costs more than
/// allocating them.
const LARGEST: usize = 256;

/// The content of a kept block: the address of the next one.
struct Free {
    next: Option<NonNull<Free>>,
}

/// The kept blocks of one size, newest first.
type List = Cell<Option<NonNull<Free>>>;

/// The cache of one thread. It has no drop, so that a thread-local with a cache is accessed without
/// a check whether it is alive. Its user must [`close`](Cache::close) it.
pub(crate) struct Cache {
    /// One list for each multiple of `ALIGN`.
    lists: [List; LARGEST / ALIGN],
    /// How many bytes it may keep.
    most: usize,
    /// How many more bytes it may keep. 0 before the thread's first block, which opens the cache,
    /// and 0 after it is closed.
    room: Cell<usize>,
    /// Set forever by the first block that is put, and by `close`.
    opened: Cell<bool>,
}

#[inline]
const fn is_kept(layout: Layout) -> bool {
    layout.align() == ALIGN && layout.size() <= LARGEST
}

impl Cache {
    /// Creates a cache that keeps up to `most` bytes.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            lists: [const { Cell::new(None) }; LARGEST / ALIGN],
            most,
            room: Cell::new(0),
            opened: Cell::new(false),
        }
    }

    #[inline]
    fn list(&self, layout: Layout) -> &List {
        &self.lists[layout.size() / ALIGN - 1]
    }

    /// Returns the last block that was put with this layout, if one is kept.
    #[inline]
    pub(crate) fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        if !is_kept(layout) {
            return None;
        }
        let list = self.list(layout);
        let block = list.get()?;
        // SAFETY: a kept block is ours, and `put` has written a `Free` into it.
        let free = unsafe { block.read() };
        list.set(free.next);
        self.room.set(self.room.get() + layout.size());
        Some(block.cast())
    }

    /// Keeps a block if there is room, and returns whether it does. The first call asks
    /// `will_close` whether the cache will be closed. If not, the cache never keeps anything.
    ///
    /// # Safety
    /// The block was allocated with this layout, whose size is a multiple of its alignment and not
    /// 0, and is the caller's to give up.
    #[inline]
    pub(crate) unsafe fn put(
        &self,
        block: NonNull<u8>,
        layout: Layout,
        will_close: impl FnOnce() -> bool,
    ) -> bool {
        if !is_kept(layout) || self.room.get() < layout.size() && !self.open(layout, will_close) {
            return false;
        }
        let list = self.list(layout);
        let block = block.cast::<Free>();
        let next = list.get();
        // SAFETY: a size that is a multiple of `ALIGN` and not 0 has room for an aligned pointer.
        unsafe { block.write(Free { next }) };
        list.set(Some(block));
        self.room.set(self.room.get() - layout.size());
        true
    }

    /// Opens the cache, unless it was opened before. Returns whether there is now room for the
    /// block.
    #[cold]
    fn open(&self, layout: Layout, will_close: impl FnOnce() -> bool) -> bool {
        if self.opened.replace(true) || !will_close() {
            return false;
        }
        self.room.set(self.most);
        layout.size() <= self.most
    }

    /// Gives all blocks back, and keeps nothing from now on.
    pub(crate) fn close(&self, mut give_back: impl FnMut(NonNull<u8>, Layout)) {
        for size in (ALIGN..=LARGEST).step_by(ALIGN) {
            let layout =
                Layout::from_size_align(size, ALIGN).expect("the size is at most `LARGEST`");
            while let Some(block) = self.take(layout) {
                give_back(block, layout);
            }
        }
        self.opened.set(true);
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

    use super::{ALIGN, Cache, LARGEST, Layout, NonNull};

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, ALIGN).unwrap()
    }

    fn allocate(layout: Layout) -> NonNull<u8> {
        // SAFETY: no test has a layout of size zero.
        NonNull::new(unsafe { alloc(layout) }).unwrap()
    }

    /// Puts a fresh block, and frees it if it is not kept.
    fn put(cache: &Cache, layout: Layout) -> bool {
        let block = allocate(layout);
        // SAFETY: the block is fresh.
        let kept = unsafe { cache.put(block, layout, || true) };
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
            assert!(unsafe { cache.put(block, layout, || true) });
        }
        for &block in blocks.iter().rev() {
            assert_eq!(cache.take(layout), Some(block));
            // SAFETY: the block has that size, and is ours again.
            unsafe { block.cast::<[u64; 2]>().write([u64::MAX; 2]) };
        }
        assert_eq!(cache.take(layout), None);
        for block in blocks {
            // SAFETY: it was allocated with this layout, and was taken out.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
    }

    #[test]
    fn each_size_has_a_list_of_its_own_and_all_come_back_at_the_end() {
        let sizes = || (ALIGN..=LARGEST).step_by(ALIGN);
        let cache = Cache::new(usize::MAX);
        for size in sizes() {
            assert!(put(&cache, layout(size)) && put(&cache, layout(size)));
        }
        for size in sizes() {
            let block = cache.take(layout(size)).unwrap();
            // SAFETY: it was taken out.
            assert!(unsafe { cache.put(block, layout(size), || unreachable!("open")) });
        }
        let back = close(&cache);
        assert_eq!(back.len(), 2 * sizes().count());
        let distinct: BTreeSet<_> = back.iter().map(|layout| layout.size()).collect();
        assert!(distinct.into_iter().eq(sizes()));
    }

    #[test]
    fn what_is_too_large_or_aligned_otherwise_is_not_kept() {
        let cache = Cache::new(usize::MAX);
        assert!(!put(&cache, layout(LARGEST + ALIGN)));
        assert!(!put(&cache, Layout::from_size_align(64, 64).unwrap()));
        assert!(!put(&cache, Layout::from_size_align(4, 4).unwrap()));
        assert_eq!(cache.take(layout(LARGEST + ALIGN)), None);
        assert!(close(&cache).is_empty());
    }

    #[test]
    fn it_keeps_as_many_bytes_as_it_may() {
        let (cache, layout) = (Cache::new(100), layout(32));
        let kept = (0..10).filter(|_| put(&cache, layout)).count();
        assert_eq!(kept, 3);
        let block = cache.take(layout).unwrap();
        // SAFETY: it was taken out, which made room for it.
        assert!(unsafe { cache.put(block, layout, || unreachable!("open")) });
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
        assert!(!unsafe { endless.put(block, layout, || false) });
        // SAFETY: it was allocated with this layout, and was not kept.
        unsafe { dealloc(block.as_ptr(), layout) };
        assert!(!put(&endless, layout), "`endless` is asked only once");
    }
}
