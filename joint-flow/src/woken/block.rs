//! [`Block`]: the memory that a combinator shares with the wakers of its children. It says which
//! children have been woken since they were last polled, and holds the waker of the task that polls
//! the combinator.
//!
//! Each child has a [`Slot`] in the block, and the slot begins with a header of `joint`'s. The
//! child's waker is therefore one word, and registering it in `joint`'s words allocates nothing.
//!
//! # The words
//!
//! | word | holds | set by |
//! |---|---|---|
//! | `leaves` | a bit for each child: it was woken | a wake-up |
//! | `root` | a bit for a range of leaves: one is not empty | a wake-up that found its leaf empty |
//! | `parent` | the waker of the task, or null | the combinator, after its polls |
//!
//! The combinator clears the root and then the leaves before it polls the children that it finds
//! there. A wake-up that found the root empty clears the parent.
//!
//! If the children fit in one word, there are no leaves, and the root has a bit for each child.
//!
//! # No wake-up is lost
//!
//! A wake-up sets its bit in a leaf (*A*), and if the leaf was empty, in the root (*U*), and if the
//! root was empty, swaps the parent out (*B*). The combinator swaps the root (*S*) and the leaves
//! (*D*) for 0, polls the children that it found, swaps its waker in (*C*), and looks at the root
//! again (*L*).
//!
//! * *B* after *C*, in the order of the parent's exchanges: the wake-up takes the waker and wakes
//!   it.
//! * *B* before *C*: *C* reads what *B* wrote, or what an exchange after *B* wrote, so *U* happens
//!   before *L*. *L* finds the bit, and the combinator wakes its own task.
//! * A wake-up that finds the root not empty leaves *B* to the one that found it empty, and the two
//!   cases above hold for that one: the root is emptied only by *S*, which the bits of both precede
//!   or follow. The same holds for a leaf, *U* and *D*.
//!
//! When *S* finds the root's bit, *A* happens before *D*, so *D* finds the child's bit, unless an
//! earlier *D* took it.
//!
//! # References
//!
//! The combinator holds one reference, and each waker of a child holds one. Whoever gives up the
//! last one frees the block, or keeps it for the next combinator of its thread (`cache.rs`).

use std::{
    mem::ManuallyDrop,
    process::abort,
    ptr::{self, NonNull},
    task::Waker,
};

use joint::waker::{Header, ThinWaker, VTable};

use super::cache;
use crate::references::References;
use joint_switch::{AtomicPtr, AtomicUsize, MODELLED, Retire, Tracked, order};

/// The bits of a word.
const WIDTH: usize = if MODELLED { 2 } else { usize::BITS as usize };

/// The children that the smallest block has slots for. Blocks of this size are kept for reuse.
pub(super) const SMALL: usize = if MODELLED { 2 } else { 8 };

/// The data of one child's waker. Immutable.
#[repr(C)]
struct Slot {
    header: Header,
    child: usize,
    block: NonNull<Block>,
}

pub(super) struct Block {
    refs: References,
    parent: AtomicPtr<()>,
    root: AtomicUsize,
    leaves: Box<[AtomicUsize]>,
    /// How many leaves a bit of the root stands for.
    stride: usize,
    slots: Box<[Slot]>,
    _tracked: Tracked,
}

impl Block {
    /// Returns a block for that many children, none of them woken, with one reference.
    pub(super) fn new(children: usize) -> NonNull<Self> {
        if children > SMALL {
            return Self::allocate(children);
        }
        let mut block = cache::take().unwrap_or_else(|| Self::allocate(SMALL));
        // SAFETY: nobody else has a reference to the block.
        let this = unsafe { block.as_mut() };
        this.refs = References::new(1);
        this.root = AtomicUsize::new(0);
        block
    }

    #[cold]
    fn allocate(children: usize) -> NonNull<Self> {
        let leaves = match children.div_ceil(WIDTH) {
            0 | 1 => 0,
            leaves => leaves,
        };
        let stride = leaves.div_ceil(WIDTH).max(1);
        let block = NonNull::from(Box::leak(Box::new(Self {
            refs: References::new(1),
            parent: AtomicPtr::new(ptr::null_mut()),
            root: AtomicUsize::new(0),
            leaves: (0..leaves).map(|_| AtomicUsize::new(0)).collect(),
            stride,
            slots: Box::default(),
            _tracked: Tracked::default(),
        })));
        let slot = |child| Slot {
            header: Header::new(&SLOT),
            child,
            block,
        };
        // SAFETY: the block is fresh and not shared yet.
        unsafe { &mut *block.as_ptr() }.slots = (0..children).map(slot).collect();
        block
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// The block came from [`Block::new`], and there is no reference to it.
    pub(super) unsafe fn free(block: NonNull<Self>) {
        // SAFETY: it was leaked from a box, and the caller gives it up.
        drop(unsafe { Box::from_raw(block.as_ptr()) });
    }

    /// Gives up a reference.
    ///
    /// # Safety
    /// The caller holds the reference, and does not use the block after this.
    pub(super) unsafe fn release(block: NonNull<Self>) {
        // SAFETY: the caller's reference keeps it alive up to the subtraction, and only the counter
        // is touched.
        let refs = unsafe { &(*block.as_ptr()).refs };
        if !refs.leave() {
            return;
        }
        // SAFETY: this was the last reference.
        unsafe { Self::discard(block) };
    }

    /// # Safety
    /// As for [`Block::free`].
    unsafe fn discard(block: NonNull<Self>) {
        // SAFETY: nobody else has a reference to the block.
        let small = unsafe { block.as_ref() }.slots.len() == SMALL;
        // SAFETY: passed on from the caller.
        if !(small && unsafe { cache::put(block) }) {
            // SAFETY: as above, and the cache did not take it.
            unsafe { Self::free(block) };
        }
    }

    /// Marks a child as woken. Returns the waker of the combinator's task if the caller must wake
    /// it.
    #[must_use = "the returned waker must be woken"]
    fn wake(&self, child: usize) -> Option<ThinWaker> {
        let mut bit = child;
        if !self.leaves.is_empty() {
            let leaf = &self.leaves[child / WIDTH];
            // ORDERING: wake_leaf. Release: the child's next poll sees what happened before its
            // wake-up (`drain_leaf`, Acquire). What is read says only whether the leaf was empty.
            if leaf.fetch_or(1 << (child % WIDTH), order!(wake_leaf: Release)) != 0 {
                return None;
            }
            bit = child / WIDTH / self.stride;
        }
        // ORDERING: wake_root. Release: as for `wake_leaf`, and the combinator that finds this bit
        // finds the leaf's as well (`drain_root`, Acquire).
        if self.root.fetch_or(1 << bit, order!(wake_root: Release)) != 0 {
            return None;
        }
        // ORDERING: take_parent. Acquire: the waker is seen whole (`register`, Release). Release: a
        // combinator that registers after this finds the bit in the root (`register`, Acquire).
        let parent = self
            .parent
            .swap(ptr::null_mut(), order!(take_parent: AcqRel));
        // SAFETY: the exchange hands the word over.
        unsafe { waker_of(parent) }
    }

    /// Calls `f` with each child that has been woken, in order, until it returns an error. The
    /// children that were found and not passed on are forgotten then. Only the combinator calls
    /// this.
    pub(super) fn drain<E>(&self, mut f: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
        // ORDERING: drain_root. Acquire, with the Release of `wake_root`: what happened before the
        // wake-ups is visible, the bits of the leaves included.
        let root = self.root.swap(0, order!(drain_root: Acquire));
        if self.leaves.is_empty() {
            return bits(root).try_for_each(f);
        }
        for bit in bits(root) {
            let range = bit * self.stride..self.leaves.len().min((bit + 1) * self.stride);
            for index in range {
                let leaf = &self.leaves[index];
                // ORDERING: drain_leaf_look. Relaxed: `drain_root` has made the bits visible that
                // it stands for. A bit that is missed has another one in the root.
                if leaf.load(order!(drain_leaf_look: Relaxed)) == 0 {
                    continue;
                }
                // ORDERING: drain_leaf. Acquire, with the Release of `wake_leaf`.
                let woken = leaf.swap(0, order!(drain_leaf: Acquire));
                bits(woken).try_for_each(|bit| f(index * WIDTH + bit))?;
            }
        }
        Ok(())
    }

    /// Whether a waker is registered. The answer yes may be out of date. Only the combinator calls
    /// this.
    pub(super) fn has_parent(&self) -> bool {
        // ORDERING: parent_look. Relaxed: only the combinator writes a waker. If a wake-up is
        // taking it at this moment, the waker is woken, and with it the combinator.
        !self.parent.load(order!(parent_look: Relaxed)).is_null()
    }

    /// Registers the waker of the combinator's task, and returns the one that was there.
    pub(super) fn register(&self, waker: &Waker) -> Option<ThinWaker> {
        let new = ThinWaker::from(waker).into_raw().as_ptr();
        // ORDERING: register. Release: the wake-up that takes the waker sees all of it
        // (`take_parent`, Acquire). Acquire: if a wake-up was here first, its bit is visible to
        // `has_woken` (`take_parent`, Release).
        let old = self.parent.swap(new, order!(register: AcqRel));
        // SAFETY: the exchange hands the word over.
        unsafe { waker_of(old) }
    }

    /// Removes the waker. Only the combinator calls this.
    pub(super) fn unregister(&self) -> Option<ThinWaker> {
        if !self.has_parent() {
            return None;
        }
        // ORDERING: unregister. Relaxed: the combinator itself has registered what is there.
        let old = self
            .parent
            .swap(ptr::null_mut(), order!(unregister: Relaxed));
        // SAFETY: the exchange hands the word over.
        unsafe { waker_of(old) }
    }

    /// Whether a child has been woken since the last `drain`. Only the combinator calls this.
    pub(super) fn has_woken(&self) -> bool {
        // ORDERING: root_look. Relaxed: `register` has made the bits visible whose wake-ups will
        // not see the waker, and `drain` acquires what they stand for.
        self.root.load(order!(root_look: Relaxed)) != 0
    }

    /// Returns the waker of a child. It may be used while the caller's reference is held, and must
    /// not be dropped.
    pub(super) fn waker(&self, child: usize) -> ManuallyDrop<Waker> {
        let header = NonNull::from(&self.slots[child]).cast::<Header>();
        // SAFETY: a slot begins with its header, and the pointer is that of the whole slot, which
        // is only read. The functions count the block's references, and wake from any thread. The
        // waker stands for the caller's reference, so it is not dropped.
        ManuallyDrop::new(unsafe { ThinWaker::waker_from_header(header) })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.refs.retire();
        self.parent.retire();
        self.root.retire();
        self.leaves.iter_mut().for_each(Retire::retire);
    }
}

/// The bits that are set, from the lowest.
fn bits(mut word: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

/// # Safety
/// `word` was taken out of `parent` by an exchange.
unsafe fn waker_of(word: *mut ()) -> Option<ThinWaker> {
    let raw = NonNull::new(word)?;
    // SAFETY: `register` alone writes words that are not null, and the exchange has handed it over.
    Some(unsafe { ThinWaker::from_raw(raw) })
}

static SLOT: VTable = {
    unsafe fn clone(header: NonNull<Header>) {
        // SAFETY: the caller holds a reference, which keeps the slot alive.
        let (_, block) = unsafe { read(header) };
        // SAFETY: as above.
        let refs = unsafe { &(*block.as_ptr()).refs };
        if !refs.enter() {
            abort();
        }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: as for `clone`.
        let (child, block) = unsafe { read(header) };
        // SAFETY: as for `clone`.
        let parent = unsafe { block.as_ref() }.wake(child);
        // SAFETY: the caller gives its reference up. The task is woken after that, because it may
        // run any code.
        unsafe { Block::release(block) };
        if let Some(parent) = parent {
            parent.wake();
        }
    }
    unsafe fn wake_by_ref(header: NonNull<Header>) {
        // SAFETY: as for `clone`.
        let (child, block) = unsafe { read(header) };
        // SAFETY: as for `clone`.
        if let Some(parent) = unsafe { block.as_ref() }.wake(child) {
            parent.wake();
        }
    }
    unsafe fn drop(header: NonNull<Header>) {
        // SAFETY: as for `clone`.
        let (_, block) = unsafe { read(header) };
        // SAFETY: the caller gives its reference up.
        unsafe { Block::release(block) };
    }
    /// # Safety
    /// This is the header of a slot whose block is alive.
    unsafe fn read(header: NonNull<Header>) -> (usize, NonNull<Block>) {
        // SAFETY: the header is the first field of a slot, which is never written.
        let slot = unsafe { header.cast::<Slot>().as_ref() };
        (slot.child, slot.block)
    }
    VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
        family: None,
    }
};
