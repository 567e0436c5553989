//! [`discard`]: what becomes of the payload of a panic that nobody gets.

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
