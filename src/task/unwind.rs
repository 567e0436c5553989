//! Catching the panics of user code.
//!
//! With `std` a panic becomes the task's result. Without `std` it cannot be caught. Other threads
//! may still use the task, which must not be left half done, so such a panic ends the program.

use crate::guard::OnDrop;

#[cfg(not(feature = "std"))]
pub(super) use super::no_std::{catch, resume};

/// Runs `f`, and catches its panic. The caller must not use state again that a panic may have left
/// broken.
#[cfg(feature = "std")]
#[inline]
pub(super) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, super::Payload> {
    std::panic::catch_unwind(core::panic::AssertUnwindSafe(f))
}

#[cfg(feature = "std")]
pub(super) use std::panic::resume_unwind as resume;

/// Runs `f`. If it panics, the program ends with the message that `why` returns, because a panic
/// during unwinding cannot be caught. The guard has no size if the function has none, so it is not
/// stored before each call.
#[inline]
pub(super) fn or_abort<R>(why: impl Fn() -> &'static str, f: impl FnOnce() -> R) -> R {
    let guard = OnDrop(|| panic!("{}", why()));
    let result = f();
    core::mem::forget(guard);
    result
}

/// Drops a value that a panic has left behind. If the drop panics too, no one is left to report it
/// to, so the program ends.
pub(super) fn drop_quietly<T>(left: T) {
    let why = || "dropping the output or the payload of a panicked task panicked again";
    or_abort(why, || drop(left));
}

/// Runs `f` while a panic unwinds. A panic of `f` is caught and dropped, because a second panic
/// during unwinding would end the program.
#[cold]
pub(super) fn quietly(f: impl FnOnce()) {
    let _ = catch(f).map_err(drop_quietly);
}

/// Ends the program with a message, by a panic that cannot be caught.
macro_rules! abort {
    ($why:literal) => {{
        let _abort = $crate::guard::OnDrop(|| panic!("the panic before this one cannot be caught"));
        panic!($why)
    }};
}
pub(super) use abort;
