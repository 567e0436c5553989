//! Where user code that panics is caught.
//!
//! With `std` a panic becomes the task's result. Without `std` it cannot be caught, and a task must not be left half done for
//! the other threads that know it: such a panic ends the program.

use alloc::boxed::Box;
use core::any::Any;

#[cfg(feature = "std")]
mod with_std {
    use core::panic::AssertUnwindSafe;

    use super::Payload;

    /// Runs `f`, and catches its panic. The caller sees to it that what a panic leaves broken is not used again.
    #[inline]
    pub(in super::super) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
        std::panic::catch_unwind(AssertUnwindSafe(f))
    }

    /// Goes on with a panic that was caught. The panic hook does not run again.
    pub(in super::super) fn resume(payload: Payload) -> ! {
        std::panic::resume_unwind(payload)
    }
}

#[cfg(not(feature = "std"))]
mod without_std {
    use super::{AbortOnUnwind, Payload};

    /// Runs `f`. Its panic ends the program.
    #[inline]
    pub(in super::super) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
        let guard =
            AbortOnUnwind("a task panicked, which `joint` cannot catch without its feature `std`");
        let result = f();
        core::mem::forget(guard);
        Ok(result)
    }

    /// There is no panic that was caught.
    pub(in super::super) fn resume(_: Payload) -> ! {
        panic!("a task panicked")
    }
}

#[cfg(feature = "std")]
pub(super) use with_std::{catch, resume};
#[cfg(not(feature = "std"))]
pub(super) use without_std::{catch, resume};

/// What a panic carries.
pub(super) type Payload = Box<dyn Any + Send>;

/// Goes on with a panic that was caught, after `first`, whose own panic ends the program.
pub(super) fn pass_on(payload: Payload, first: impl FnOnce()) -> ! {
    let guard = AbortOnUnwind("waking the one who waits for a panicked task panicked again");
    first();
    core::mem::forget(guard);
    resume(payload)
}

/// Drops what is left of a panic. When that panics again, there is nobody left to tell: it ends the program.
pub(super) fn drop_quietly<T>(left: T) {
    let guard = AbortOnUnwind("dropping what a panicking task has left panicked again");
    drop(left);
    core::mem::forget(guard);
}

/// Does something when a panic passes it, while that unwinds. A second panic, from there, is
/// dropped quietly: it must not meet the first.
pub(super) struct OnUnwind<F: FnMut()>(pub(super) F);

impl<F: FnMut()> Drop for OnUnwind<F> {
    #[cold]
    fn drop(&mut self) {
        let _ = catch(|| (self.0)()).map_err(drop_quietly);
    }
}

/// Turns a panic that passes it into the end of the program: a panic while panicking is not caught.
pub(super) struct AbortOnUnwind(pub(super) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}
