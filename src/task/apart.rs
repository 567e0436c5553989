//! [`Apart`]: a large future, or a large output, in a block of its own.
//!
//! A task's block lives as long as its last waker or handle, which may be long after the task has
//! ended. What is large therefore has a block of its own, which is freed when the future is
//! dropped, or the output is taken or dropped. The task knows nothing of it: its future is then an
//! `Apart<F>`, or has an `Apart<T>` as its output. `Builder` wraps them where the sizes say so, and
//! a handle knows by the size of its output what it takes.
//!
//! The block belongs to whoever the stage belongs to (rule 1 of `cell.rs`).

use core::{
    future::Future,
    mem::ManuallyDrop,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

use joint_switch::{MODELLED, UnsafeCell, heap};

/// The largest size of a future and of an output that is kept in the task's own block. With a
/// second block, spawn, run and join of a future of that size take 5% longer, and of 4 KiB 20%.
/// Models have small stacks.
const MOST: usize = if MODELLED { 512 } else { 16 * 1024 };

/// Returns whether a value gets a block of its own, in a task on the heap.
pub(super) const fn is_large<T>() -> bool {
    size_of::<T>() > MOST
}

/// A block without a value. Dropping it frees it.
pub(super) struct Empty<T>(NonNull<UnsafeCell<T>>);

/// The memory of a block. It has a size even if `T` has none, because the compiler checks this code
/// for each `T`.
#[repr(C)]
union Room<T> {
    value: ManuallyDrop<T>,
    byte: u8,
}

impl<T> Empty<T> {
    #[inline]
    pub(super) fn new() -> Self {
        Self(heap::allocate::<Room<UnsafeCell<T>>>().cast())
    }

    #[inline(always)]
    pub(super) fn fill(self, value: T) -> Apart<T> {
        // SAFETY: the block is ours.
        unsafe { self.0.write(UnsafeCell::new(value)) };
        Apart(self)
    }
}

impl<T> Drop for Empty<T> {
    fn drop(&mut self) {
        // SAFETY: `new` has allocated it, and no one uses it after this.
        unsafe { heap::release(self.0.cast::<Room<UnsafeCell<T>>>()) };
    }
}

/// A value in a block of its own. A future in it is pinned.
pub(super) struct Apart<T>(Empty<T>);

impl<T> Apart<T> {
    fn cell(&self) -> &UnsafeCell<T> {
        // SAFETY: the block is ours alone, and alive by `self`.
        unsafe { self.0.0.as_ref() }
    }

    /// Takes the value, and frees the block.
    ///
    /// # Safety
    /// The value is not pinned.
    #[inline]
    pub(super) unsafe fn take(self) -> T {
        let this = ManuallyDrop::new(self);
        let _block = Empty(this.0.0);
        // SAFETY: the value is ours. It counts as moved out.
        this.cell().with_mut(|value| unsafe { value.read() })
    }
}

impl<T> Drop for Apart<T> {
    /// The block is freed after this, also if the value's drop panics.
    fn drop(&mut self) {
        // SAFETY: the value is ours, and not used after this.
        self.cell()
            .with_mut(|value| unsafe { value.drop_in_place() });
    }
}

impl<F: Future> Future for Apart<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.cell().with_mut(|future| {
            // SAFETY: the future is ours.
            let future = unsafe { &mut *future };
            // SAFETY: it stays where it is until it is dropped in place.
            unsafe { Pin::new_unchecked(future) }.poll(cx)
        })
    }
}

/// A future whose output is put into a block of its own.
pub(super) struct OutputApart<F>(pub(super) F);

impl<F: Future> Future for OutputApart<F> {
    type Output = Apart<F::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned with `self`, and not moved.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        match future.poll(cx) {
            Poll::Ready(output) => Poll::Ready(Empty::new().fill(output)),
            Poll::Pending => Poll::Pending,
        }
    }
}
