//! The heap of a normal build: the program's global allocator. Without the feature `alloc` there is
//! none.

#[cfg(feature = "alloc")]
use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::{alloc::Layout, ptr::NonNull};

#[cfg(not(feature = "alloc"))]
use self::without_alloc::{alloc, dealloc, handle_alloc_error};

#[cfg(not(feature = "alloc"))]
mod without_alloc {
    use super::Layout;

    #[cold]
    pub(super) unsafe fn alloc(_: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    /// Never called, because nothing is allocated.
    pub(super) unsafe fn dealloc(_: *mut u8, _: Layout) {}

    #[cold]
    pub(super) fn handle_alloc_error(_: Layout) -> ! {
        panic!("without its feature `alloc`, `joint` has no memory for a waker of another crate")
    }
}

/// Returns the layout that a `T` is allocated with.
const fn layout<T>() -> Layout {
    let layout = Layout::new::<T>();
    assert!(layout.size() != 0, "a type of size zero needs no heap");
    layout
}

/// Allocates an uninitialised block for one `T`. Calls `handle_alloc_error` if there is no memory.
#[inline]
pub fn allocate<T>() -> NonNull<T> {
    // SAFETY: the size is not zero, as `layout` asserts.
    unsafe { block(const { layout::<T>() }) }.cast()
}

/// # Safety
/// The layout's size is not zero.
#[inline]
unsafe fn block(layout: Layout) -> NonNull<u8> {
    // SAFETY: passed on from the caller.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees a block.
///
/// # Safety
/// `block` came from [`allocate`] with the same `T`, and no one uses it after this.
#[inline]
pub unsafe fn release<T>(block: NonNull<T>) {
    // SAFETY: the caller got the block from `allocate::<T>`, which used this layout, and gives the
    // block up.
    unsafe { dealloc(block.as_ptr().cast(), const { layout::<T>() }) };
}
