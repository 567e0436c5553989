//! The memory that the two ends share, and [`Owned`], the proof that only one of them is left.
//!
//! Rules for the fields:
//!
//! 1. Both ends use `word` through its functions only.
//! 2. `value` belongs to the sender until its exchange, and then to the last end, as decided by the
//!    word. That end holds an [`Owned`].
//! 3. `value` is initialised just before the sender completes, and stays so until it is taken or
//!    dropped. If the block stays alive after that, the word says that there is no value.
//! 4. `closed` has the waker of a sender that waits until the receiver is gone. The receiver
//!    completes it before it detaches. The sender takes the waker back before it finishes.

use core::{mem::MaybeUninit, ptr::NonNull};

use crate::completion::{Completion, Slotted};
use joint_switch::{Retire, UnsafeCell, heap};

/// The block of a channel. The word comes first, so that its address is that of the block.
#[repr(C)]
pub(super) struct Block<T> {
    words: Words,
    value: UnsafeCell<MaybeUninit<T>>,
}

#[repr(C)]
struct Words {
    word: Slotted,
    closed: Completion,
}

impl<T> Block<T> {
    /// Allocates a block with both ends alive and no value.
    #[inline]
    pub(super) fn allocate() -> NonNull<Self> {
        let this = heap::allocate::<Self>();
        // Write each part directly to its place, because the stack may have no room for a value.
        // SAFETY: the place is inside the fresh block.
        let place = unsafe { &raw mut (*this.as_ptr()).words };
        let (word, closed) = (Slotted::new(), Completion::new());
        // SAFETY: fresh and ours.
        unsafe { place.write(Words { word, closed }) };
        // SAFETY: as above.
        let place = unsafe { &raw mut (*this.as_ptr()).value };
        // SAFETY: as above.
        unsafe { UnsafeCell::write_uninit(place) };
        this
    }

    /// Returns the word as a raw pointer, because no reference may be held across an exchange:
    /// after it, the other end may free the block.
    #[inline]
    pub(super) fn word(this: NonNull<Self>) -> *const Slotted {
        this.as_ptr().cast()
    }

    /// Returns the word of rule 4, as a raw pointer for the same reason.
    #[inline]
    pub(super) fn closed(this: NonNull<Self>) -> *const Completion {
        // SAFETY: the address is inside the block, and nothing is read.
        unsafe { &raw const (*this.as_ptr()).words.closed }
    }

    /// Writes the value.
    ///
    /// # Safety
    /// The caller is the sender, before its exchange, and does this once.
    #[inline]
    pub(super) unsafe fn put(this: NonNull<Self>, value: T) {
        // SAFETY: the block lives at least until the sender's exchange. The reference is only to
        // the cell.
        let cell = unsafe { &(*this.as_ptr()).value };
        cell.with_mut(|place| {
            // SAFETY: by rule 2 no other thread touches the value.
            unsafe { place.cast::<T>().write(value) }
        });
    }

    /// Moves the value out, and leaves the block alive.
    ///
    /// # Safety
    /// The caller is the receiver, for which the word says that there is a value. It is not used
    /// again.
    #[inline]
    pub(super) unsafe fn read(this: NonNull<Self>) -> T {
        // SAFETY: alive by the receiver. The reference is only to the cell.
        let cell = unsafe { &(*this.as_ptr()).value };
        cell.with_mut(|place| {
            // SAFETY: by rule 2 the value is the receiver's, and by rule 3 initialised.
            unsafe { place.cast::<T>().read() }
        })
    }
}

/// A block that its other end never touches again. Dropping it frees the memory, but does not drop
/// a value in it.
pub(super) struct Owned<T>(NonNull<Block<T>>);

impl<T> Owned<T> {
    /// # Safety
    /// The word has told the caller that the block belongs to the caller alone, and this is the one
    /// call for that answer.
    #[inline]
    pub(super) unsafe fn new(block: NonNull<Block<T>>) -> Self {
        Self(block)
    }

    /// Takes the value, and frees the block.
    ///
    /// # Safety
    /// There is a value.
    #[inline]
    pub(super) unsafe fn take(self) -> T {
        // SAFETY: the block is ours alone, and the value initialised by this function's contract.
        unsafe { Block::read(self.0) }
    }

    /// Drops the value in place, and frees the block, even when the value's destructor panics.
    ///
    /// # Safety
    /// There is a value.
    #[inline]
    pub(super) unsafe fn discard(self) {
        // SAFETY: the block is ours alone, and lives as long as `self`.
        let cell = unsafe { &(*self.0.as_ptr()).value };
        cell.with_mut(|place| {
            // SAFETY: as in `take`.
            unsafe { place.cast::<T>().drop_in_place() }
        });
    }
}

impl<T> Drop for Owned<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the block is ours alone.
        let block = unsafe { self.0.as_mut() };
        block.words.closed.retire();
        block.words.word.retire();
        block.value.retire();
        // SAFETY: the block came from `Block::allocate`, and no one uses it after this. No field
        // has a destructor to run.
        unsafe { heap::release(self.0) };
    }
}
