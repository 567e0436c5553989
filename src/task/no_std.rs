//! Tasks without the feature `std`: the items that have other bodies there, under the same names. A
//! panic cannot be caught, and there are no thread-locals.

use super::{Payload, header::Task, unwind::or_abort};

/// Runs `f`. If it panics, the program ends.
#[inline]
pub(super) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    let why = || "a task panicked, which `joint` cannot catch without its feature `std`";
    or_abort(why, || Ok(f()))
}

/// Never called, because no panic is caught.
pub(super) fn resume(_: Payload) -> ! {
    panic!("a task panicked")
}

/// Every wake-up takes the ordinary path.
pub(super) mod polled {
    use super::Task;

    #[inline(always)]
    pub(in super::super) fn watch<R>(_: Task, poll: impl FnOnce() -> R) -> (R, bool) {
        (poll(), false)
    }

    #[inline(always)]
    pub(in super::super) fn wake(_: Task) -> bool {
        false
    }
}

/// Nobody asks for the panics of a thread.
#[cfg(feature = "alloc")]
pub(super) mod on_panic {
    use core::num::NonZero;

    pub(in super::super) fn caught(_: Option<&str>) -> Option<NonZero<u64>> {
        None
    }

    pub(in super::super) fn seen(_: NonZero<u64>) {}
}
