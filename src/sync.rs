//! Atomics, cells, the heap and threads, which can be switched to those of a model checker.
//!
//! Everything in the crate that two threads can touch at once is imported from here. A normal build
//! re-exports `core`, `alloc` and `std`. Under `--cfg joint_loom` the same names are loom's, behind
//! thin wrappers that count and check (`model.rs`). Only this file and `lib.rs` name the cfg, and
//! this module depends on nothing else in the crate.
//!
//! The code that uses this module must follow two rules:
//!
//! * Every atomic site has a name: `order!(complete: AcqRel)`. In a normal build that is the bare
//!   constant. Under the model a run can replace it by a weaker ordering, and a model must then
//!   fail.
//! * Memory that two threads share is allocated by [`heap`], and every atomic and cell in it is
//!   [retired](Retire) right before it is freed, so that the model sees a free that races with an
//!   access.

#[cfg(all(not(joint_loom), feature = "std"))]
pub(crate) mod asymmetric;
#[cfg_attr(
    not(feature = "std"),
    allow(dead_code, reason = "used only by the caches, which need threads")
)]
pub(crate) mod cache;
#[cfg(feature = "std")]
pub(crate) mod clock;
#[cfg_attr(
    not(feature = "std"),
    allow(dead_code, reason = "used only by the caches, which need threads")
)]
pub(crate) mod depot;
#[cfg(not(joint_loom))]
pub(crate) mod heap;
#[cfg(joint_loom)]
#[allow(missing_docs, reason = "only models use it")]
pub(crate) mod model;
#[cfg(feature = "io")]
mod prefetch;
#[cfg(feature = "std")]
mod punctual;
#[cfg(feature = "std")]
mod renewed;
#[cfg(feature = "std")]
mod this_thread;
#[cfg(all(not(joint_loom), feature = "std"))]
pub(crate) mod wait;

#[cfg(feature = "io")]
pub(crate) use self::prefetch::prefetch;
#[cfg(feature = "std")]
pub(crate) use self::{punctual::punctually, renewed::Renewed, this_thread::this_thread};

#[cfg(joint_loom)]
pub(crate) use model::{
    AtomicPtr, AtomicU64, AtomicUsize, UnsafeCell, fence, heap, ref_limit, wake_limit,
};
#[cfg(all(joint_loom, feature = "io"))]
pub(crate) use model::{AtomicWaker, OnceLock};
#[cfg(all(joint_loom, feature = "std"))]
pub(crate) use model::{Mutex, MutexGuard, asymmetric, looks, thread, thread_local, wait_until};

#[cfg(all(not(joint_loom), feature = "io"))]
pub(crate) use atomic_waker::AtomicWaker;
#[cfg(all(not(joint_loom), feature = "io"))]
pub(crate) use std::sync::OnceLock;

#[cfg(all(not(joint_loom), feature = "std"))]
pub(crate) use self::wait::wait_until;
#[cfg(all(not(joint_loom), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::AtomicU64;
#[cfg(not(joint_loom))]
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicUsize, fence};
#[cfg(not(joint_loom))]
pub(crate) use real::UnsafeCell;
#[cfg(all(not(joint_loom), feature = "std"))]
pub(crate) use real::looks;
#[cfg(all(not(joint_loom), target_has_atomic = "64"))]
pub(crate) use real::{ref_limit, wake_limit};
#[cfg(all(not(joint_loom), feature = "std"))]
pub(crate) use std::{
    sync::{Mutex, MutexGuard},
    thread, thread_local,
};

/// Names an atomic site and the ordering that it needs: `order!(complete: AcqRel)`.
///
/// The site's full name is the module's path without the crate, followed by the name:
/// `completion::complete`.
macro_rules! order {
    ($site:ident : $ordering:ident) => {
        $crate::sync::site_order!($site, core::sync::atomic::Ordering::$ordering)
    };
}

#[cfg(not(joint_loom))]
macro_rules! site_order {
    ($site:ident, $ordering:expr) => {
        $ordering
    };
}

#[cfg(joint_loom)]
macro_rules! site_order {
    ($site:ident, $ordering:expr) => {
        $crate::sync::model::ordering(concat!(module_path!(), "::", stringify!($site)), $ordering)
    };
}

/// Names a protocol's second look, which finds what has changed since the first:
/// `recheck!(sleep_again: has_work())`.
///
/// In a normal build that is just the expression. Under the model a run can replace it by `false`,
/// and a model must then fail. A `// RECHECK: sleep_again. ...` comment says what would be missed.
#[cfg(feature = "std")]
macro_rules! recheck {
    ($name:ident : $look:expr) => {
        $crate::sync::named_recheck!($name, $look)
    };
}

#[cfg(all(not(joint_loom), feature = "std"))]
macro_rules! named_recheck {
    ($name:ident, $look:expr) => {
        // This keeps lints from suggesting to negate the expression.
        core::convert::identity::<bool>($look)
    };
}

#[cfg(all(joint_loom, feature = "std"))]
macro_rules! named_recheck {
    ($name:ident, $look:expr) => {
        $crate::sync::model::mutants::sees(concat!(module_path!(), "::", stringify!($name)), || {
            $look
        })
    };
}

/// Makes a constructor `const`, except under the model, whose atomics have no `const` constructors.
macro_rules! const_unless_modelled {
    ($(#[$attr:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        #[cfg(not(joint_loom))]
        $(#[$attr])*
        $vis const fn $name($($arg: $ty),*) -> $ret $body

        #[cfg(joint_loom)]
        $(#[$attr])*
        $vis fn $name($($arg: $ty),*) -> $ret $body
    };
}

/// Makes an array whose elements are all made by the same expression. It is constant, except under
/// the model.
#[cfg(not(joint_loom))]
macro_rules! array_of {
    ($element:expr; $length:expr) => {
        [const { $element }; $length]
    };
}

#[cfg(joint_loom)]
macro_rules! array_of {
    ($element:expr; $length:expr) => {
        core::array::from_fn::<_, { $length }, _>(|_| $element)
    };
}

pub(crate) use {array_of, const_unless_modelled, order, site_order};
#[cfg(feature = "std")]
pub(crate) use {named_recheck, recheck};

/// The last access to a place before its memory is freed.
///
/// Under the model it is a mutable access, which fails if another thread's access is not ordered
/// before it. In a normal build it does nothing.
pub(crate) trait Retire {
    fn retire(&mut self);
}

#[cfg(not(joint_loom))]
mod real {
    use core::sync::atomic::AtomicPtr;

    use super::Retire;

    /// `core`'s cell with the access functions of loom's.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with the pointer, for reading.
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with the pointer, for a write or an exclusive access.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }

    impl<T> Retire for UnsafeCell<T> {
        #[inline(always)]
        fn retire(&mut self) {}
    }

    impl<T> Retire for AtomicPtr<T> {
        #[inline(always)]
        fn retire(&mut self) {}
    }

    #[cfg(target_has_atomic = "64")]
    impl Retire for core::sync::atomic::AtomicU64 {
        #[inline(always)]
        fn retire(&mut self) {}
    }

    impl Retire for core::sync::atomic::AtomicUsize {
        #[inline(always)]
        fn retire(&mut self) {}
    }

    /// Looks up to `most` times, with a short pause in between, until `see` returns true. Returns
    /// whether it has.
    #[cfg(feature = "std")]
    pub(crate) fn looks(most: usize, see: impl Fn() -> bool) -> bool {
        (0..most).any(|look| {
            if look > 0 {
                core::hint::spin_loop();
            }
            see()
        })
    }

    /// The number of unconsumed wake-ups of a task from which on wakers take theirs back: half of
    /// the counter's range.
    #[cfg(target_has_atomic = "64")]
    #[inline(always)]
    pub(crate) const fn wake_limit() -> u64 {
        1 << 31
    }

    /// The number of wakers of a task from which on one more ends the program: half of the
    /// counter's range.
    #[cfg(target_has_atomic = "64")]
    #[inline(always)]
    pub(crate) const fn ref_limit() -> u64 {
        1 << 27
    }
}
