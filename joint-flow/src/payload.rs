//! [`discard`] and [`discard_panic`]: what becomes of a panic that nobody gets.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Drops the payload. If that panics, the new payload is leaked, because its drop may panic too.
/// The caller is about to pass an earlier panic on, which must not be lost.
#[cold]
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(another);
    }
}

/// Calls `f` after a panic, and discards a second one.
pub(crate) fn discard_panic(f: impl FnOnce()) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(f)) {
        discard(second);
    }
}
