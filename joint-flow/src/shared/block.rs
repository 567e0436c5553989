//! The memory that the sender and all waiters share, and [`Handle`], a reference to it.
//!
//! Every holder of a handle may use `awaited`. `references` counts the handles. The thread that
//! decrements it to zero drops the value and frees the block.

use std::{marker::PhantomData, mem::ManuallyDrop, ptr::NonNull};

use super::awaited::Awaited;
use crate::references::References;
use joint_switch::heap;

struct Block<T> {
    awaited: Awaited<T>,
    references: References,
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
        // SAFETY: the place is inside the fresh block.
        let place = unsafe { &raw mut (*block.as_ptr()).awaited };
        // SAFETY: fresh and ours.
        unsafe { Awaited::write_to(place) };
        // SAFETY: as above.
        let place = unsafe { &raw mut (*block.as_ptr()).references };
        // SAFETY: as above.
        unsafe { place.write(References::new(2)) };
        (Self::of(block), Self::of(block))
    }

    fn of(block: NonNull<Block<T>>) -> Self {
        Self {
            block,
            value: PhantomData,
        }
    }

    #[inline]
    pub(super) fn awaited(&self) -> &Awaited<T> {
        // SAFETY: alive by this reference.
        unsafe { &(*self.block.as_ptr()).awaited }
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
            unsafe { block.awaited.retire() };
            block.references.retire();
            // SAFETY: the block came from `heap::allocate`, and no one uses it after this. No field
            // has a destructor to run.
            unsafe { heap::release(self.0) };
        }
    }
    let owned = Owned(block);
    // SAFETY: the block is ours alone, and alive until `owned` is dropped.
    let block = unsafe { owned.0.as_ref() };
    // SAFETY: as above, and passed on from the caller.
    unsafe { block.awaited.take(with) }
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
