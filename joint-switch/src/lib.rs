//! Atomics, cells, the heap and threads, which can be switched to those of a model checker.
//!
//! Everything in the packages of joint that two threads can touch at once is imported from here. A
//! normal build re-exports `core`, `alloc` and `std`. Under `--cfg joint_loom` the same names are
//! loom's, behind thin wrappers that count and check ([`model`]). Only this package and the roots
//! of the others name the cfg.
//!
//! `--cfg joint_tsan` is for ThreadSanitizer, which knows no fences. Under it every read of an
//! atomic acquires, so every report is a bug.
//!
//! `--cfg joint_cores` is for `verify/joint-cores`, which runs a program on simulated cores. Only
//! that has what it needs of loom's names.
//!
//! Under `--cfg joint_watch` each step of a word that the proof knows is held against its tables
//! (`docs/proof.md`). It is for 64 bits, Unix and `std`.
//!
//! This package is for joint's own packages, which pin its exact version. It promises nothing to
//! others, and can change in any release.
//!
//! The code that uses it must follow two rules:
//!
//! * Every atomic site has a name: `order!(complete: AcqRel)`. In a normal build that is the bare
//!   constant. Under the model a run can replace it by a weaker ordering, and a model must then
//!   fail.
//! * Memory that two threads share is allocated by [`heap`], and every atomic and cell in it is
//!   [retired](Retire) right before it is freed, so that the model sees a free that races with an
//!   access.
#![cfg_attr(all(not(feature = "std"), not(joint_loom)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(joint_loom),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "`model` exists only under the cfg"
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(not(joint_loom))]
pub mod heap;
#[cfg(joint_loom)]
#[allow(
    missing_docs,
    clippy::new_without_default,
    reason = "the names are those of core, std and loom"
)]
pub mod model;
#[cfg(feature = "std")]
mod renewed;
#[cfg(joint_tsan)]
mod sanitized;
#[cfg(feature = "std")]
mod this_thread;
mod unique;
#[cfg(all(not(joint_loom), feature = "std"))]
mod wait;
#[cfg(joint_watch)]
#[doc(hidden)]
pub mod watched;
#[cfg(any(joint_tsan, joint_watch))]
mod wrapped;

use core::mem::MaybeUninit;

pub use self::unique::unique;
#[cfg(feature = "std")]
pub use self::{
    renewed::Renewed,
    this_thread::{this_thread, thread_address},
};

#[cfg(not(any(target_has_atomic = "ptr", feature = "portable-atomic")))]
compile_error!(
    "this machine has no compare-exchange: enable the feature `portable-atomic` of `joint`"
);

#[cfg(joint_loom)]
use self::model as atomics;
#[cfg(joint_tsan)]
use self::sanitized as with;
#[cfg(joint_watch)]
use self::watched as with;
#[cfg(any(joint_tsan, joint_watch))]
use self::wrapped as atomics;
#[cfg(not(any(
    joint_loom,
    joint_cores,
    joint_tsan,
    joint_watch,
    feature = "portable-atomic"
)))]
use core::sync::atomic as atomics;
#[cfg(joint_cores)]
use loom::sync::atomic as atomics;
#[cfg(all(
    feature = "portable-atomic",
    not(any(joint_loom, joint_cores, joint_tsan, joint_watch))
))]
use portable_atomic as atomics;

#[cfg(target_has_atomic = "64")]
pub use atomics::AtomicU64;
pub use atomics::{AtomicPtr, AtomicU32, AtomicUsize, fence};

#[cfg(all(joint_loom, feature = "std"))]
pub use self::model::{Mutex, MutexGuard, OnceLock, now, thread, thread_local, wait_until};
#[cfg(joint_loom)]
pub use self::model::{UnsafeCell, heap, loom::hint::spin_loop, ref_limit, wake_limit};

#[cfg(all(not(joint_loom), feature = "std"))]
pub use self::wait::{now, wait_until};
#[cfg(joint_watch)]
pub use self::watched::compiler_fence;
// The model never reorders accesses by itself.
#[cfg(not(any(joint_loom, joint_cores)))]
pub use core::hint::spin_loop;
#[cfg(all(not(joint_watch), feature = "std"))]
pub use core::sync::atomic::compiler_fence;
#[cfg(joint_cores)]
pub use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    seed as random,
    sync::{Mutex, MutexGuard, OnceLock},
    thread, thread_local,
};
#[cfg(not(any(joint_loom, joint_cores)))]
pub use real::UnsafeCell;
#[cfg(not(joint_loom))]
pub use real::{ref_limit, wake_limit};
#[cfg(all(not(any(joint_loom, joint_cores)), feature = "std"))]
pub use std::{
    sync::{Mutex, MutexGuard, OnceLock},
    thread, thread_local,
};

/// Returns a number that nobody can foresee.
#[cfg(all(not(joint_cores), feature = "std"))]
pub fn random() -> u64 {
    use core::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(0_u64)
}

/// Whether this build is for the model checker. Models shrink constants by it, never logic.
pub const MODELLED: bool = cfg!(joint_loom);

/// Names an atomic site and the ordering that it needs: `order!(complete: AcqRel)`.
///
/// The site's full name is the module's path with the short name of the package (`joint::` is left
/// out, and `joint_executor` is `executor`), followed by the name: `completion::complete`.
#[macro_export]
macro_rules! order {
    ($site:ident : $ordering:ident) => {
        $crate::site_order!($site, ::core::sync::atomic::Ordering::$ordering)
    };
}

#[doc(hidden)]
#[cfg(not(any(joint_loom, joint_watch)))]
#[macro_export]
macro_rules! site_order {
    ($site:ident, $ordering:expr) => {
        $ordering
    };
}

#[doc(hidden)]
#[cfg(joint_watch)]
#[macro_export]
macro_rules! site_order {
    ($site:ident, $ordering:expr) => {
        $crate::watched::ordering(concat!(module_path!(), "::", stringify!($site)), $ordering)
    };
}

#[doc(hidden)]
#[cfg(joint_loom)]
#[macro_export]
macro_rules! site_order {
    ($site:ident, $ordering:expr) => {
        $crate::model::ordering(concat!(module_path!(), "::", stringify!($site)), $ordering)
    };
}

/// Names a protocol's second look, which finds what has changed since the first:
/// `recheck!(sleep_again: has_work())`.
///
/// In a normal build that is just the expression. Under the model a run can replace it by `false`,
/// and a model must then fail. A `// RECHECK: sleep_again. ...` comment says what would be missed.
#[cfg(not(joint_loom))]
#[macro_export]
macro_rules! recheck {
    ($name:ident : $look:expr) => {
        // This keeps lints from suggesting to negate the expression.
        ::core::convert::identity::<bool>($look)
    };
}

/// Names a protocol's second look.
#[cfg(joint_loom)]
#[macro_export]
macro_rules! recheck {
    ($name:ident : $look:expr) => {
        $crate::model::sees(concat!(module_path!(), "::", stringify!($name)), || $look)
    };
}

/// Makes a constructor `const`, except under the model, whose atomics have no `const` constructors.
#[cfg(not(joint_loom))]
#[macro_export]
macro_rules! const_unless_modelled {
    ($(#[$attr:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        $(#[$attr])*
        $vis const fn $name($($arg: $ty),*) -> $ret $body
    };
}

/// Makes a constructor that is `const` in a normal build.
#[cfg(joint_loom)]
#[macro_export]
macro_rules! const_unless_modelled {
    ($(#[$attr:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        $(#[$attr])*
        $vis fn $name($($arg: $ty),*) -> $ret $body
    };
}

/// An array of `N` values, each from a constructor that is `const` [unless
/// modelled](const_unless_modelled): `array_of!(Slot::new(); N)`.
#[cfg(not(joint_loom))]
#[macro_export]
macro_rules! array_of {
    ($new:expr; $n:expr) => {
        [const { $new }; $n]
    };
}

/// An array of `N` values, each from a constructor.
#[cfg(joint_loom)]
#[macro_export]
macro_rules! array_of {
    ($new:expr; $n:expr) => {
        ::core::array::from_fn::<_, { $n }, _>(|_| $new)
    };
}

/// Memory of `SIZE` bytes, in which values of other types are kept, with bytes of theirs that are
/// not initialised. It has their address in models too, which therefore do not see it: an
/// [`UnsafeCell`] beside it has to stand for it.
#[derive(Debug)]
#[cfg_attr(target_pointer_width = "64", repr(C, align(16)))]
#[cfg_attr(not(target_pointer_width = "64"), repr(C, align(8)))]
pub struct Room<const SIZE: usize>(core::cell::UnsafeCell<MaybeUninit<[u8; SIZE]>>);

impl<const SIZE: usize> Room<SIZE> {
    /// Creates the memory.
    #[allow(clippy::new_without_default, reason = "nobody needs it")]
    pub const fn new() -> Self {
        // Zeroes, because a static of other bytes may take room in the program's file.
        Self(core::cell::UnsafeCell::new(MaybeUninit::zeroed()))
    }
}

/// The last access to a place before its memory is freed.
///
/// Under the model it is a mutable access, which fails if another thread's access is not ordered
/// before it. In a normal build it does nothing.
pub trait Retire {
    /// Ends the place.
    #[inline(always)]
    fn retire(&mut self) {
        #[cfg(joint_watch)]
        watched::retired((&raw const *self).cast::<()>().addr());
    }
}

/// Says that the state word of a task is where it stays, to the monitor of `--cfg joint_watch`. In
/// any other build it does nothing.
#[cfg(not(joint_watch))]
#[inline(always)]
pub fn placed<W>(_: &W) {}
#[cfg(joint_watch)]
pub use self::watched::placed;

#[cfg(not(joint_loom))]
mod real {
    #[cfg(not(joint_cores))]
    use core::mem::MaybeUninit;

    #[cfg(joint_cores)]
    use super::UnsafeCell;
    use super::{AtomicPtr, Retire};

    /// `core`'s cell with the access functions of loom's.
    #[derive(Debug)]
    #[cfg(not(joint_cores))]
    #[repr(transparent)]
    pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    #[cfg(not(joint_cores))]
    impl<T> UnsafeCell<T> {
        /// Creates a cell.
        pub const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with the pointer, for reading.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with the pointer, for a write or an exclusive access.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }

    #[cfg(not(joint_cores))]
    impl<T> UnsafeCell<MaybeUninit<T>> {
        /// Makes a cell without a value in its place, and not on the stack first.
        ///
        /// # Safety
        /// It may be written.
        #[inline(always)]
        pub const unsafe fn write_uninit(_: *mut Self) {}
    }

    impl<T> Retire for UnsafeCell<T> {}
    impl<T> Retire for AtomicPtr<T> {}
    #[cfg(target_has_atomic = "64")]
    impl Retire for super::AtomicU64 {}
    impl Retire for super::AtomicU32 {}
    impl Retire for super::AtomicUsize {}

    /// Returns the limit of a task's unconsumed wake-ups, which a model can lower.
    #[inline(always)]
    pub const fn wake_limit<T>(limit: T) -> T {
        limit
    }

    /// Returns the limit of a task's wakers, which a model can lower.
    #[inline(always)]
    pub const fn ref_limit<T>(limit: T) -> T {
        limit
    }
}

/// A field of what threads share by counting: a model fails if it is never dropped.
#[cfg(not(joint_loom))]
#[derive(Debug, Default)]
pub struct Tracked(());

/// A field of what threads share by counting: a model fails if it is never dropped.
#[cfg(joint_loom)]
#[derive(Debug)]
pub struct Tracked(#[allow(dead_code, reason = "its drop is what counts")] loom::alloc::Track<()>);

#[cfg(joint_loom)]
impl Drop for Tracked {
    fn drop(&mut self) {
        model::stop_if_failed();
    }
}

#[cfg(joint_loom)]
impl Default for Tracked {
    fn default() -> Self {
        Self(loom::alloc::Track::new(()))
    }
}
