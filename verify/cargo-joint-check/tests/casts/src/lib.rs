//! Atomics of other memory, which the command refuses.

use std::sync::atomic::AtomicU32;

pub fn by_cast(word: *mut u32) -> *const AtomicU32 {
    word as *const AtomicU32
}

pub fn by_method(word: *mut u32) -> *mut AtomicU32 {
    word.cast::<AtomicU32>()
}

/// # Safety
/// As for `from_ptr`.
pub unsafe fn by_function<'a>(word: *mut u32) -> &'a AtomicU32 {
    AtomicU32::from_ptr(word)
}
