//! [`Cache`]: the blocks of memory that one thread keeps to use again, in a list for each size.
//!
//! It is one thread's own: it takes no lock and makes no atomic operation. Where blocks come from,
//! and where they go when they are not kept, is its user's matter (`heap.rs`), so that models and
//! tests run it as it is, on a heap of theirs.

use core::{alloc::Layout, cell::Cell, ptr::NonNull};

/// What kept blocks are aligned to. Their sizes are multiples of it.
pub(super) const ALIGN: usize = 8;

/// Larger blocks are rare, and their price is in filling them.
const LARGEST: usize = 256;

/// A block that is kept: the place of the next.
struct Free {
    next: Option<NonNull<Free>>,
}

/// The kept blocks of one size, the last one in front.
type List = Cell<Option<NonNull<Free>>>;

/// It has no drop, so that a thread-local that holds one is reached without asking whether it is
/// alive. Its user has to [`close`](Cache::close) it.
pub(crate) struct Cache {
    /// One for each multiple of `ALIGN`.
    lists: [List; LARGEST / ALIGN],
    /// How many bytes it keeps at most.
    most: usize,
    /// How many bytes more it keeps. None before the thread's first block, which opens the cache,
    /// and none after its end.
    room: Cell<usize>,
    /// Set for good by the first block that is put, and by the end.
    opened: Cell<bool>,
}

#[inline]
const fn is_kept(layout: Layout) -> bool {
    layout.align() == ALIGN && layout.size() <= LARGEST
}

impl Cache {
    /// A cache that will keep up to so many bytes.
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

    /// A block that was allocated with this layout, if one is kept: the last that was put.
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

    /// Keeps a block, or says no. The first time it asks `will_close` whether somebody will close
    /// the cache, and keeps nothing ever if not.
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
        // SAFETY: a multiple of `ALIGN` that is not 0 has room for a pointer, aligned as it has to
        // be.
        unsafe { block.write(Free { next }) };
        list.set(Some(block));
        self.room.set(self.room.get() - layout.size());
        true
    }

    /// Makes room, if none was made before. True: there is enough for a block.
    #[cold]
    fn open(&self, layout: Layout, will_close: impl FnOnce() -> bool) -> bool {
        if self.opened.replace(true) || !will_close() {
            return false;
        }
        self.room.set(self.most);
        layout.size() <= self.most
    }

    /// Gives all back, and keeps nothing any more.
    pub(crate) fn close(&self, mut give_back: impl FnMut(NonNull<u8>, Layout)) {
        for size in (ALIGN..=LARGEST).step_by(ALIGN) {
            let layout = Layout::from_size_align(size, ALIGN).expect("at most `LARGEST`");
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
        // SAFETY: no test allocates nothing.
        NonNull::new(unsafe { alloc(layout) }).unwrap()
    }

    /// Keeps a fresh block, or says no and gives it back.
    fn put(cache: &Cache, layout: Layout) -> bool {
        let block = allocate(layout);
        // SAFETY: fresh.
        let kept = unsafe { cache.put(block, layout, || true) };
        if !kept {
            // SAFETY: allocated so, and not kept.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
        kept
    }

    /// Closes the cache, and tells what came back.
    fn close(cache: &Cache) -> Vec<Layout> {
        let mut back = Vec::new();
        cache.close(|block, layout| {
            // SAFETY: a cache gives back what was put with that layout.
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
            // SAFETY: fresh.
            assert!(unsafe { cache.put(block, layout, || true) });
        }
        for &block in blocks.iter().rev() {
            assert_eq!(cache.take(layout), Some(block));
            // SAFETY: it is as large, and ours again.
            unsafe { block.cast::<[u64; 2]>().write([u64::MAX; 2]) };
        }
        assert_eq!(cache.take(layout), None);
        for block in blocks {
            // SAFETY: allocated so, and taken out.
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
            // SAFETY: taken out.
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
        // SAFETY: taken out. What was taken made room.
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
        // SAFETY: fresh.
        assert!(!unsafe { endless.put(block, layout, || false) });
        // SAFETY: allocated so, and not kept.
        unsafe { dealloc(block.as_ptr(), layout) };
        assert!(!put(&endless, layout), "it asks once");
    }
}
