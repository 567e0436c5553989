//! A large future, or a large output, in a box of its own.
//!
//! A task's block lives as long as its last waker or handle, which may be long after the task has
//! ended. What is large therefore has a box of its own, which is freed when the future is dropped,
//! or the output is taken or dropped. The task knows nothing of it: its future is then a box, or
//! has one as its output. `Builder` puts them there where the sizes say so, and a handle knows by
//! the size of its output what it takes.

use alloc::boxed::Box;
use core::{
    future::Future,
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
};

use joint_switch::MODELLED;

/// The largest size of a future and of an output that is kept in the task's own block. With a
/// second block, spawn, run and join of a future of that size take 5% longer, and of 4 KiB 20%.
/// Models have small stacks.
const MOST: usize = if MODELLED { 512 } else { 16 * 1024 };

/// Returns whether a value gets a box of its own, in a task on the heap.
pub(super) const fn is_large<T>() -> bool {
    size_of::<T>() > MOST
}

/// Puts a future into a box that was made before it.
#[inline(always)]
pub(super) fn fill<F>(mut block: Box<MaybeUninit<F>>, future: F) -> Pin<Box<F>> {
    block.write(future);
    // SAFETY: it was just written.
    Box::into_pin(unsafe { block.assume_init() })
}

/// A future whose output is put into a box.
pub(super) struct OutputApart<F>(pub(super) F);

impl<F: Future> Future for OutputApart<F> {
    type Output = Box<F::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned with `self`, and not moved.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        future.poll(cx).map(Box::new)
    }
}
