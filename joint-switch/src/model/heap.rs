//! The heap of a model, which detects leaks, double frees and uses after free. A released block is
//! kept aside, and an access to it fails the model with a message.

use core::{
    alloc::Layout,
    cell::RefCell,
    mem::{self, ManuallyDrop},
    ptr::NonNull,
};
use std::collections::{BTreeMap, VecDeque};

std::thread_local! {
    static FREED: RefCell<Freed> = const { RefCell::new(Freed { blocks: BTreeMap::new(), order: VecDeque::new() }) };
    static TRACKS: RefCell<BTreeMap<usize, ManuallyDrop<loom::alloc::Track<()>>>> = const { RefCell::new(BTreeMap::new()) };
}

#[track_caller]
pub fn allocate<T>() -> NonNull<T> {
    let layout = Layout::new::<T>();
    assert_ne!(layout.size(), 0, "a type of size zero needs no heap");
    // SAFETY: the layout's size is not zero, as asserted above.
    let block = unsafe { std::alloc::alloc(layout) };
    let block = NonNull::new(block.cast::<T>()).expect("there is enough memory for a model");
    // Only `release` may drop a track, because a track that a failed run leaves behind must not
    // be touched outside that run.
    let track = ManuallyDrop::new(loom::alloc::Track::new(()));
    TRACKS.with_borrow_mut(|live| live.insert(block.as_ptr().expose_provenance(), track));
    block
}

/// # Safety
/// `block` came from [`allocate`] with the same `T`, and no one uses it after this.
#[track_caller]
pub unsafe fn release<T>(block: NonNull<T>) {
    let address = block.as_ptr().addr();
    let track = TRACKS.with_borrow_mut(|live| live.remove(&address));
    let track = track.expect("double free: a block that is not allocated was released");
    drop(ManuallyDrop::into_inner(track));
    FREED.with_borrow_mut(|freed| freed.push(address, Layout::new::<T>()));
}

/// Frees the blocks of the runs before.
pub(super) fn forget_freed() {
    FREED.with_borrow_mut(Freed::clear);
}

/// Released blocks, kept so that their addresses are not reused while a model may still access
/// them.
struct Freed {
    blocks: BTreeMap<usize, Layout>,
    order: VecDeque<usize>,
}

/// More than any single run of a model frees.
const KEPT_BLOCKS: usize = 4096;

impl Freed {
    fn push(&mut self, address: usize, layout: Layout) {
        self.blocks.insert(address, layout);
        self.order.push_back(address);
        if self.order.len() > KEPT_BLOCKS {
            let oldest = self.order.pop_front().expect("the queue is not empty");
            let layout = self.blocks.remove(&oldest);
            let layout = layout.expect("every queued block is in the map");
            // SAFETY: the block came from the global allocator with this layout, and is listed only
            // once.
            unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(oldest), layout) };
        }
    }

    /// Frees the blocks of the runs before, of which nothing is left that could access them. A
    /// search among the blocks of one run is faster than among thousands.
    fn clear(&mut self) {
        for (address, layout) in mem::take(&mut self.blocks) {
            // SAFETY: as in `push`.
            unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(address), layout) };
        }
        self.order.clear();
    }

    fn holds(&self, address: usize) -> bool {
        let before = self.blocks.range(..=address).next_back();
        before.is_some_and(|(start, layout)| address < start + layout.size())
    }
}

/// Fails the model if `place` is in released memory.
#[track_caller]
pub(super) fn assert_live<T>(place: &T) {
    let address = core::ptr::from_ref(place).addr();
    let freed = FREED.with_borrow(|freed| freed.holds(address));
    assert!(
        !freed,
        "use after free: an atomic or a cell in a released block was accessed"
    );
}
