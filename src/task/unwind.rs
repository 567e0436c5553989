//! Where user code that panics is caught.
//!
//! With `std` a panic becomes the task's result. Without `std` it cannot be caught, and a task must not be left half done for
//! the other threads that know it: such a panic ends the program.

#[cfg(feature = "std")]
mod with_std {
    use core::panic::AssertUnwindSafe;

    use super::super::PanicPayload;

    /// Runs `f`, and catches its panic. The caller sees to it that what a panic leaves broken is not used again.
    #[inline]
    pub(in super::super) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, PanicPayload> {
        std::panic::catch_unwind(AssertUnwindSafe(f)).map_err(PanicPayload::new)
    }
}

#[cfg(not(feature = "std"))]
mod without_std {
    use super::{super::PanicPayload, AbortOnUnwind};

    /// Runs `f`. Its panic ends the program.
    #[inline]
    pub(in super::super) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, PanicPayload> {
        let guard =
            AbortOnUnwind("a task panicked, which `joint` cannot catch without its feature `std`");
        let result = f();
        core::mem::forget(guard);
        Ok(result)
    }
}

#[cfg(feature = "std")]
pub(super) use with_std::catch;
#[cfg(not(feature = "std"))]
pub(super) use without_std::catch;

/// Drops what is left of a panic. When that panics again, there is nobody left to tell: it ends the program.
pub(super) fn drop_quietly<T>(left: T) {
    let guard = AbortOnUnwind("dropping what a panicking task has left panicked again");
    drop(left);
    core::mem::forget(guard);
}

/// Turns a panic that passes it into the end of the program: a panic while panicking is not caught.
struct AbortOnUnwind(&'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}
