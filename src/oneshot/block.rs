//! The memory that the two ends share, and [`Owned`], which is the proof that only one of them is left.
//!
//! Rules for the fields:
//!
//! 1. `word` is used by both ends through the functions of [`Completion`], each by the side that it is meant for.
//! 2. `value` belongs to the sender until its exchange, and then to the end that the word says is the last: whoever holds an
//!    [`Owned`].
//! 3. `value` is initialised from right before the sender completes until it is taken or dropped.

use core::{mem::MaybeUninit, ptr::NonNull};

use crate::{
    Completion,
    sync::{Retire, UnsafeCell, heap},
};

/// The word comes first, so that the address of the block is the word's.
#[repr(C)]
pub(super) struct Block<T> {
    word: Completion,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Block<T> {
    /// A block with both ends alive and no value.
    #[inline]
    pub(super) fn allocate() -> NonNull<Self> {
        let this = heap::allocate::<Self>();
        let value = Self {
            word: Completion::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        // SAFETY: the block is fresh and ours.
        unsafe { this.write(value) };
        this
    }

    /// The word, as a raw pointer: no reference may be held across an exchange, after which the other end may free it.
    #[inline]
    pub(super) fn word(this: NonNull<Self>) -> *const Completion {
        this.as_ptr().cast()
    }

    /// Puts the value in.
    ///
    /// # Safety
    /// The caller is the sender, before its exchange, and does this once.
    #[inline]
    pub(super) unsafe fn put(this: NonNull<Self>, value: T) {
        // SAFETY: the block lives until the sender's exchange, at least. The reference is to the cell alone.
        let cell = unsafe { &(*this.as_ptr()).value };
        cell.with_mut(|place| {
            // SAFETY: by rule 2 nobody else touches the place.
            unsafe { place.write(MaybeUninit::new(value)) }
        });
    }
}

/// A block that its other end has left for ever. Dropping it frees the memory, but not a value that is in it.
pub(super) struct Owned<T>(NonNull<Block<T>>);

impl<T> Owned<T> {
    /// # Safety
    /// The word told the caller, once and for all, that the block is the caller's alone.
    #[inline]
    pub(super) unsafe fn new(block: NonNull<Block<T>>) -> Self {
        Self(block)
    }

    /// Takes the value out, and frees the block.
    ///
    /// # Safety
    /// There is a value.
    #[inline]
    pub(super) unsafe fn take(self) -> T {
        self.with(|place| {
            // SAFETY: by rule 2 the place is ours; initialised by this function's contract, and not used after this.
            unsafe { place.read() }
        })
    }

    /// Drops the value in place, and frees the block, even when the value's destructor panics.
    ///
    /// # Safety
    /// There is a value.
    #[inline]
    pub(super) unsafe fn discard(self) {
        self.with(|place| {
            // SAFETY: as in `take`.
            unsafe { place.drop_in_place() }
        });
    }

    /// Puts a new word that says completed in the place of one that says detached.
    #[cold]
    pub(super) fn complete_again(self) -> NonNull<Block<T>> {
        let block = core::mem::ManuallyDrop::new(self).0;
        // SAFETY: the block is ours alone, and is not freed here.
        let word = unsafe { &mut (*block.as_ptr()).word };
        word.retire();
        *word = Completion::new();
        // SAFETY: the word is new, and this is the one call for it. There is no other end that could answer.
        let _unobserved = unsafe { Completion::raw_complete(word) };
        block
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        // SAFETY: the block is ours alone, and lives as long as `self`.
        let cell = unsafe { &(*self.0.as_ptr()).value };
        cell.with_mut(|place| f(place.cast()))
    }
}

impl<T> Drop for Owned<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the block is ours alone.
        let block = unsafe { self.0.as_mut() };
        block.word.retire();
        block.value.retire();
        // SAFETY: it came from `Block::allocate`, and nobody uses it any more. Neither field has a destructor to run.
        unsafe { heap::release(self.0) };
    }
}
