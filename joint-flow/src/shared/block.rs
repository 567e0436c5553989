//! The memory that the sender and all waiters share, and [`Handle`], a reference to it.
//!
//! Rules for the fields:
//!
//! 1. Every holder of a handle may use `waiters`.
//! 2. `value` belongs to the sender until `waiters` says that there is a value. From then on every
//!    holder of a handle may read it, and the last one drops it.
//! 3. `references` counts the handles. The thread that decrements it to zero frees the block.

use std::{
    marker::PhantomData,
    mem::{ManuallyDrop, MaybeUninit},
    ptr::NonNull,
};

use super::{Closed, waiters::Waiters};
use crate::references::References;
use joint::completion::Ended;
use joint_switch::{Retire, UnsafeCell, heap};

struct Block<T> {
    waiters: Waiters,
    references: References,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// One reference to a block.
pub(super) struct Handle<T> {
    block: NonNull<Block<T>>,
    /// Invariant, because the sender takes a value in, and the others give it out.
    value: PhantomData<fn(T) -> T>,
}

// SAFETY: every thread with a handle may read the value by reference, and the thread with the last
// one drops it.
unsafe impl<T: Send + Sync> Send for Handle<T> {}
// SAFETY: as for `Send`; a handle is cloned by reference.
unsafe impl<T: Send + Sync> Sync for Handle<T> {}

impl<T> Handle<T> {
    /// Allocates a block, and returns two references to it, for the sender and for the first
    /// waiter.
    pub(super) fn pair() -> (Self, Self) {
        let block = heap::allocate::<Block<T>>();
        // Write each part directly to its place, because the stack may have no room for a value.
        // SAFETY: the place is inside the fresh block.
        let place = unsafe { &raw mut (*block.as_ptr()).waiters };
        // SAFETY: fresh and ours.
        unsafe { place.write(Waiters::new()) };
        // SAFETY: as above.
        let place = unsafe { &raw mut (*block.as_ptr()).references };
        // SAFETY: as above.
        unsafe { place.write(References::new(2)) };
        // SAFETY: as above.
        let place = unsafe { &raw mut (*block.as_ptr()).value };
        // SAFETY: as above.
        unsafe { UnsafeCell::write_uninit(place) };
        (Self::of(block), Self::of(block))
    }

    fn of(block: NonNull<Block<T>>) -> Self {
        Self {
            block,
            value: PhantomData,
        }
    }

    #[inline]
    pub(super) fn waiters(&self) -> &Waiters {
        // SAFETY: alive by this reference.
        unsafe { &(*self.block.as_ptr()).waiters }
    }

    /// Writes the value.
    ///
    /// # Safety
    /// The caller is the sender, before the end, and does this once.
    #[inline]
    pub(super) unsafe fn put(&self, value: T) {
        self.cell().with_mut(|place| {
            // SAFETY: by rule 2 no other thread touches the value.
            unsafe { place.cast::<T>().write(value) }
        });
    }

    /// Returns the answer, if it is known.
    #[inline]
    pub(super) fn answer(&self) -> Option<Result<&T, Closed>> {
        let ended = self.waiters().ended()?;
        // SAFETY: the waiters have just said so.
        Some(unsafe { self.answer_of(ended) })
    }

    /// # Safety
    /// The wait has ended as `ended` says.
    #[inline]
    pub(super) unsafe fn answer_of(&self, ended: Ended) -> Result<&T, Closed> {
        match ended {
            Ended::Done => Ok(self.cell().with(|place| {
                // SAFETY: the sender has written the value, and by rule 2 it does not change while
                // there is a handle.
                unsafe { &*place.cast::<T>() }
            })),
            Ended::Abandoned => Err(Closed),
        }
    }

    /// Takes the value, if there is one, and frees the block.
    ///
    /// # Safety
    /// This is the only reference, as [`are_last`](References::are_last) has said.
    pub(super) unsafe fn take(self) -> Option<T> {
        let block = ManuallyDrop::new(self).block;
        // SAFETY: `end` passes a value that is ours, and not used after this.
        let take = |value: *mut T| unsafe { value.read() };
        // SAFETY: no other thread uses the block.
        unsafe { end(block, take) }
    }

    #[inline]
    pub(super) fn references(&self) -> &References {
        // SAFETY: alive by this reference. The reference is to the number alone, which another
        // thread may free while this one gives up its own.
        unsafe { &(*self.block.as_ptr()).references }
    }

    #[inline]
    fn cell(&self) -> &UnsafeCell<MaybeUninit<T>> {
        // SAFETY: alive by this reference. The reference is to the cell alone.
        unsafe { &(*self.block.as_ptr()).value }
    }
}

impl<T> Clone for Handle<T> {
    #[inline]
    fn clone(&self) -> Self {
        if !self.references().enter() {
            panic!(
                "there are more clones of a `Shared` than fit into memory; do not call `mem::forget` on \
                 clones in a loop"
            );
        }
        Self::of(self.block)
    }
}

impl<T> Drop for Handle<T> {
    #[inline]
    fn drop(&mut self) {
        if self.references().leave() {
            // SAFETY: that was the last reference.
            unsafe { free(self.block) };
        }
    }
}

/// Drops the value if there is one, and frees the block, even when the value's destructor panics.
///
/// # Safety
/// The block came from `Handle::pair`, and no other thread uses it.
#[inline(never)]
unsafe fn free<T>(block: NonNull<Block<T>>) {
    // SAFETY: `end` passes a value that is ours to drop, once.
    let discard = |value: *mut T| unsafe { value.drop_in_place() };
    // SAFETY: passed on from the caller.
    unsafe { end(block, discard) };
}

/// Calls `with` with the value if there is one, and frees the block, even when `with` panics.
///
/// # Safety
/// As for `free`. The value is not used after `with`.
unsafe fn end<T, R>(block: NonNull<Block<T>>, with: impl FnOnce(*mut T) -> R) -> Option<R> {
    /// Frees the memory.
    struct Owned<T>(NonNull<Block<T>>);
    impl<T> Drop for Owned<T> {
        fn drop(&mut self) {
            // SAFETY: the block is ours alone.
            let block = unsafe { self.0.as_mut() };
            // SAFETY: the sender and all waiters held references, and have given them up.
            unsafe { block.waiters.retire() };
            block.references.retire();
            block.value.retire();
            // SAFETY: the block came from `heap::allocate`, and no one uses it after this. No field
            // has a destructor to run.
            unsafe { heap::release(self.0) };
        }
    }
    let owned = Owned(block);
    // SAFETY: the block is ours alone, and alive until `owned` is dropped.
    let block = unsafe { owned.0.as_ref() };
    // By rule 2 there is a value now, and it is ours.
    let has_value = block.waiters.ended() == Some(Ended::Done);
    has_value.then(|| block.value.with_mut(|place| with(place.cast())))
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn a_clone_too_many_panics_and_is_not_counted() {
        const MOST: usize = isize::MAX as usize;
        let (one, other) = Handle::<u8>::pair();
        let count = one.references().count();
        count.store(MOST, Relaxed);
        drop(one.clone());
        assert_eq!(count.load(Relaxed), MOST);
        for many in [MOST + 1, MOST + 2] {
            count.store(many, Relaxed);
            let clone = std::panic::AssertUnwindSafe(|| one.clone());
            assert!(std::panic::catch_unwind(clone).is_err());
            assert_eq!(count.load(Relaxed), many);
        }
        count.store(2, Relaxed);
        drop(other);
    }
}
