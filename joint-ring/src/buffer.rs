//! [`Buffer`] and [`BufferMut`]: memory that the kernel can be given for a while.

use core::ptr;

/// Bytes that the kernel can read while the value lies in an operation.
///
/// # Safety
/// Two calls of [`bytes`](Buffer::bytes) return the same memory with the same contents, even if the
/// value was moved in between, as long as nothing else was done with it. That memory stays valid
/// and is not written to until the value is dropped or used in another way.
pub unsafe trait Buffer: Send + 'static {
    /// Returns the bytes.
    fn bytes(&self) -> &[u8];
}

/// Memory that the kernel can write to while the value lies in an operation.
///
/// # Safety
/// The memory that [`room`](BufferMut::room) returns stays valid, and belongs to the value alone,
/// until the value is dropped or used in another way. Moving the value is no such use.
pub unsafe trait BufferMut: Send + 'static {
    /// Returns the address and the length of all of the memory, whatever it contains.
    fn room(&mut self) -> *mut [u8];

    /// Records that the first `count` bytes have been written.
    ///
    /// # Safety
    /// The first `count` bytes of the memory have been written.
    unsafe fn set_filled(&mut self, count: usize);
}

/// Declares buffers whose bytes lie on the heap or in a static, so that moving the value moves none
/// of them.
macro_rules! buffers {
    ($($kind:ty: $bytes:expr;)*) => {$(
        // SAFETY: the bytes lie behind a pointer, and change only by `&mut` to the value.
        unsafe impl Buffer for $kind {
            fn bytes(&self) -> &[u8] {
                $bytes(self)
            }
        }
    )*};
}

buffers! {
    Vec<u8>: Vec::as_slice;
    Box<[u8]>: AsRef::as_ref;
    String: String::as_bytes;
    std::sync::Arc<[u8]>: AsRef::as_ref;
    &'static [u8]: AsRef::as_ref;
    &'static str: |text: &&'static str| text.as_bytes();
}

// SAFETY: a vector owns its memory, which stays where it is when the vector is moved.
unsafe impl BufferMut for Vec<u8> {
    /// The whole capacity, from the start.
    fn room(&mut self) -> *mut [u8] {
        ptr::slice_from_raw_parts_mut(self.as_mut_ptr(), self.capacity())
    }

    /// Sets the length.
    unsafe fn set_filled(&mut self, count: usize) {
        // SAFETY: the caller promises that so many bytes have been written, and there is room for
        // no more than the capacity.
        unsafe { self.set_len(count) };
    }
}

// SAFETY: a box owns its memory, which stays where it is when the box is moved.
unsafe impl BufferMut for Box<[u8]> {
    fn room(&mut self) -> *mut [u8] {
        &raw mut **self
    }

    /// Does nothing: a box has one length.
    unsafe fn set_filled(&mut self, _count: usize) {}
}
