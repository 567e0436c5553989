//! Running user code that may panic, where a panic must stop nothing else.

use core::{mem, task::Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what may panic and must not take the worker down. The panic hook has told of the panic.
#[inline]
pub(super) fn guarded(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // The payload's own drop may panic as well. What that leaves is not worth the worker.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            mem::forget(again);
        }
    }
}

/// Wakes them all: none is kept from it by what another one does.
pub(super) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        guarded(|| waker.wake());
    }
}
