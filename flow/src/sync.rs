//! Atomics, cells and locks, which can be switched to those of a model checker, as in `joint`
//! itself. Only this file names the cfg.

#[cfg(joint_loom)]
pub(crate) use {
    joint::model::{AtomicPtr, AtomicUsize, UnsafeCell},
    loom::sync::{Mutex, MutexGuard},
    model_thread_local as thread_local,
};
#[cfg(not(joint_loom))]
pub(crate) use {
    real::UnsafeCell,
    std::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicPtr, AtomicUsize},
    },
    std::thread_local,
};

/// The model's threads run on one thread of the system, so they need thread-locals of the model.
/// Its macro takes no constant.
#[cfg(joint_loom)]
macro_rules! model_thread_local {
    ($(#[$attr:meta])* static $name:ident: $ty:ty = const { $init:expr };) => {
        loom::thread_local! { $(#[$attr])* static $name: $ty = $init; }
    };
}
#[cfg(joint_loom)]
pub(crate) use model_thread_local;

#[cfg(not(joint_loom))]
mod real {
    /// `core`'s cell with the access functions of loom's.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with the pointer, for a write or an exclusive access.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// Names an atomic site and the ordering that it needs, as `joint`'s own: `order!(wake: AcqRel)`.
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
        joint::model::ordering(concat!(module_path!(), "::", stringify!($site)), $ordering)
    };
}

/// Names a protocol's second look, as `joint`'s own: `recheck!(sleep_again: has_work())`.
macro_rules! recheck {
    ($name:ident : $look:expr) => {
        $crate::sync::named_recheck!($name, $look)
    };
}

#[cfg(not(joint_loom))]
macro_rules! named_recheck {
    ($name:ident, $look:expr) => {
        // This keeps lints from suggesting to negate the expression.
        core::convert::identity::<bool>($look)
    };
}

#[cfg(joint_loom)]
macro_rules! named_recheck {
    ($name:ident, $look:expr) => {
        joint::model::sees(concat!(module_path!(), "::", stringify!($name)), || $look)
    };
}

pub(crate) use {named_recheck, order, recheck, site_order};

/// Whether this build is for the model checker. Models shrink constants by it, never logic.
pub(crate) const MODELLED: bool = cfg!(joint_loom);

/// The last access to an atomic before its memory is freed. A model fails if another thread's
/// access is not ordered before it. A normal build does nothing.
pub(crate) trait Retire {
    fn retire(&mut self) {}
}

#[cfg(not(joint_loom))]
impl Retire for AtomicUsize {}
#[cfg(not(joint_loom))]
impl<T> Retire for AtomicPtr<T> {}

#[cfg(joint_loom)]
impl Retire for AtomicUsize {
    fn retire(&mut self) {
        self.get_mut_with(|_| ());
    }
}
#[cfg(joint_loom)]
impl<T> Retire for AtomicPtr<T> {
    fn retire(&mut self) {
        self.get_mut_with(|_| ());
    }
}

/// A field of what threads share by counting: a model fails if it is never dropped.
#[cfg(not(joint_loom))]
#[derive(Debug, Default)]
pub(crate) struct Tracked(());

#[cfg(joint_loom)]
pub(crate) struct Tracked(
    #[allow(dead_code, reason = "its drop is what counts")] loom::alloc::Track<()>,
);

#[cfg(joint_loom)]
impl Default for Tracked {
    fn default() -> Self {
        Self(loom::alloc::Track::new(()))
    }
}
