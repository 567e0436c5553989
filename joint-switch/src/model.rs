//! The primitives of the crate under the model. They are loom's, wrapped so that a run can
//!
//! * be changed in one place ([`joint_mutants`]), or weaken named orderings ([`Weakened`]),
//! * count the atomic read-modify-writes of a path ([`rmw_count`]),
//! * be observed, operation by operation ([`observe`]), as `joint-lab` does,
//! * see every use of freed memory: a released block is kept aside, and an access to it fails the
//!   model with a message.
//!
//! loom runs all threads of a model on one thread of the operating system. Plain thread-locals
//! therefore hold the state of one model run, and the models of different tests do not interfere.

use core::{
    cell::{Cell, RefCell},
    mem::MaybeUninit,
    ops::BitOr,
    sync::atomic::Ordering,
};
use std::{
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

pub mod heap;
mod locks;
pub mod observe;

pub use self::locks::{LocalKey, Mutex, MutexGuard, OnceLock, now};

pub(crate) use joint_lab::record::stop_if_failed;
use joint_mutants::named::{self, Halves};
use observe::{Bits, Object, Step, ended, update};

use self::heap::assert_live;
use super::Retire;

std::thread_local! {
    static RMWS: Cell<usize> = const { Cell::new(0) };
    static WAKE_LIMIT: Cell<Option<u8>> = const { Cell::new(None) };
    static REF_LIMIT: Cell<Option<u8>> = const { Cell::new(None) };
    /// Sites, what they ask for instead, and whether a run has reached them.
    static OVERRIDES: RefCell<Vec<(String, Ordering, bool)>> = const { RefCell::new(Vec::new()) };
    /// A counter that fences increment, which makes them take turns. Relaxed, so that it orders
    /// nothing else.
    static TURNS: RefCell<Option<Arc<loom::sync::atomic::AtomicUsize>>> = const { RefCell::new(None) };
}

/// While it is alive, the models of this thread run with one site's ordering replaced.
#[derive(Debug)]
pub struct Weakened(usize);

impl Weakened {
    /// Replaces the ordering of `site` (such as `completion::complete`) by `ordering`. For a fence,
    /// `Relaxed` removes it.
    #[must_use = "the site is weakened only while the value exists"]
    pub fn new(site: &str, ordering: Ordering) -> Self {
        OVERRIDES.with_borrow_mut(|table| {
            table.push((site.to_string(), ordering, false));
            Self(table.len() - 1)
        })
    }

    /// Returns whether a run has reached the site.
    pub fn is_reached(&self) -> bool {
        OVERRIDES.with_borrow(|table| table[self.0].2)
    }
}

impl Drop for Weakened {
    fn drop(&mut self) {
        OVERRIDES.with_borrow_mut(Vec::pop);
    }
}

/// Returns a path without the package `joint`, and that in another package of the workspace with
/// the short name of the package: `flow`, not `joint_flow`.
fn without_package(path: &'static str) -> &'static str {
    let own = path.strip_prefix("joint::");
    own.or_else(|| path.strip_prefix("joint_")).unwrap_or(path)
}

/// Returns whether a second look sees anything in this run.
#[track_caller]
pub fn sees(path: &'static str, look: impl FnOnce() -> bool) -> bool {
    named::sees(without_package(path), look)
}

/// Returns the ordering that this run uses at a site.
#[track_caller]
pub fn ordering(path: &'static str, asked: Ordering) -> Ordering {
    let site = without_package(path);
    observe::asked(site);
    let order = named::order(site, asked);
    OVERRIDES.with_borrow_mut(|table| {
        let own = table.iter_mut().rev().find(|(name, ..)| name == site);
        own.map_or(order, |(_, weaker, is_reached)| {
            *is_reached = true;
            *weaker
        })
    })
}

/// Returns how many atomic read-modify-writes have run on this thread so far, that is, in all
/// threads of its models.
pub fn rmw_count() -> usize {
    RMWS.get()
}

/// Lets the other threads run until `is_done` returns true.
#[cfg(feature = "std")]
pub fn wait_until(mut is_done: impl FnMut() -> bool) {
    while !is_done() {
        thread::yield_now();
    }
}

/// Returns the limit of a normal build, or the one that a run has set in order to reach it.
pub fn wake_limit<T: From<u8>>(limit: T) -> T {
    WAKE_LIMIT.get().map_or(limit, T::from)
}

/// Lowers the limit of a task's unconsumed wake-ups, for the models of this thread, or resets it.
/// The limit must be at least 4.
pub fn set_wake_limit(limit: Option<u8>) {
    assert!(
        limit.is_none_or(|limit| limit >= 4),
        "the limit must be at least 4, because a run consumes a quarter of it"
    );
    WAKE_LIMIT.set(limit);
}

/// Returns the limit of a normal build, or the one that a run has set in order to reach it.
pub fn ref_limit<T: From<u8>>(limit: T) -> T {
    REF_LIMIT.get().map_or(limit, T::from)
}

/// Lowers the limit of a task's wakers, for the models of this thread, or resets it.
pub fn set_ref_limit(limit: Option<u8>) {
    REF_LIMIT.set(limit);
}

fn count_rmw() {
    RMWS.set(RMWS.get() + 1);
}

/// Declares [thread-locals](LocalKey), one for each thread of the model, with the syntax of std's.
#[doc(hidden)]
#[macro_export]
macro_rules! model_thread_local {
    ($($(#[$attr:meta])* static $name:ident: $ty:ty = const { $init:expr };)*) => {
        $($(#[$attr])* static $name: $crate::model::LocalKey<$ty> = {
            $crate::model::loom::thread_local! { static KEY: $ty = $init; }
            $crate::model::LocalKey(&KEY)
        };)*
    };
}
#[doc(hidden)]
pub use loom;
pub use model_thread_local as thread_local;

/// Makes a fence, or nothing if a run has weakened it to `Relaxed`.
#[track_caller]
pub fn fence(order: Ordering) {
    if order == Ordering::SeqCst {
        if let Some(turns) = TURNS.with_borrow(Clone::clone) {
            turns.fetch_add(1, Ordering::Relaxed);
        }
    }
    if order == Ordering::Relaxed {
        observe::forget();
    } else {
        Object::NONE.begins(Step::Fence, order);
        loom::sync::atomic::fence(order);
        ended(());
    }
}

/// While it is alive, other threads of the model may run between a `SeqCst` fence and the operation
/// before it.
///
/// Without it, loom executes a fence in one step with the operation before it, and so tries too few
/// orders of two such fences. Create it at the beginning of each run of a model.
#[derive(Debug)]
pub struct FencesTakeTurns(());

impl FencesTakeTurns {
    /// Starts taking turns, and forgets the blocks that earlier runs have released.
    #[must_use = "fences take turns only while the value exists"]
    #[allow(clippy::new_without_default, reason = "the place of the call matters")]
    pub fn new() -> Self {
        heap::forget_freed();
        // joint-check orders fences by itself.
        if !cfg!(joint_check) {
            TURNS.set(Some(Arc::new(loom::sync::atomic::AtomicUsize::new(0))));
        }
        Self(())
    }
}

impl Drop for FencesTakeTurns {
    fn drop(&mut self) {
        TURNS.set(None);
    }
}

macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty, { $($extra:tt)* }) => {
        #[derive(Debug)]
        pub struct $name $(<$t>)? (loom::sync::atomic::$name $(<$t>)?, Object);

        #[allow(dead_code, reason = "every atomic offers the same operations")]
        impl $(<$t>)? $name $(<$t>)? {
            #[track_caller]
            pub fn new(value: $value) -> Self {
                let object = Object::new(stringify!($name), value.bits());
                Self(loom::sync::atomic::$name::new(value), object)
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.1.begins(Step::Load, order);
                assert_live(self);
                ended(self.0.load(order))
            }

            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.1.begins(Step::Store(value.bits()), order);
                assert_live(self);
                ended(self.0.store(value, order));
            }

            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                if let Some(halves) = named::halves("swap", order, order) {
                    return self.in_two(halves, |_| Some(value));
                }
                self.1.begins(update("swap", value.bits()), order);
                assert_live(self);
                count_rmw();
                ended(self.0.swap(value, order))
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if let Some(halves) = named::halves("compare_exchange", success, failure) {
                    let before = self.in_two(halves, |now| (now == current).then_some(new));
                    return if before == current { Ok(before) } else { Err(before) };
                }
                let step = Step::Exchange {
                    current: current.bits(),
                    new: new.bits(),
                    failure,
                    done: false,
                };
                self.1.begins(step, success);
                assert_live(self);
                count_rmw();
                ended(self.0.compare_exchange(current, new, success, failure))
            }

            /// The exchange of a mutant, which loses what another thread stores between its two
            /// steps.
            #[track_caller]
            fn in_two(
                &self,
                halves: Halves,
                next: impl FnOnce($value) -> Option<$value>,
            ) -> $value {
                count_rmw();
                let before = self.load(halves.load);
                if let (Some(next), Some(order)) = (next(before), halves.store) {
                    self.store(next, order);
                }
                before
            }

            #[track_caller]
            pub fn get_mut_with<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                self.1.begins(Step::Exclusive(0), Ordering::Relaxed);
                assert_live(self);
                self.0.with_mut(|value| {
                    let result = f(value);
                    ended(*value);
                    result
                })
            }

            $($extra)*
        }

        impl $(<$t>)? Retire for $name $(<$t>)? {
            #[track_caller]
            fn retire(&mut self) {
                self.get_mut_with(|_| ());
            }
        }
    };
}

macro_rules! integer {
    ($name:ident, $value:ty, { $($fetch:ident $with:ident),+ }) => {
        atomic!($name, $value, {$(
            #[track_caller]
            pub fn $fetch(&self, value: $value, order: Ordering) -> $value {
                if let Some(halves) = named::halves(stringify!($fetch), order, order) {
                    return self.in_two(halves, |now| Some(now.$with(value)));
                }
                self.1.begins(update(stringify!($fetch), value.bits()), order);
                assert_live(self);
                count_rmw();
                ended(self.0.$fetch(value, order))
            }
        )+

            /// A compare-exchange until it succeeds, or until `f` returns `None`.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let sites = observe::sites();
                observe::ask_again([None, sites[1]]);
                let mut before = self.load(fetch);
                while let Some(next) = f(before) {
                    observe::ask_again(sites);
                    match self.compare_exchange(before, next, set, fetch) {
                        Ok(_) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }
        });
    };
}

atomic!(AtomicPtr<T>, *mut T, {});
integer!(AtomicU32, u32, { fetch_add wrapping_add, fetch_sub wrapping_sub });
integer!(AtomicU64, u64, { fetch_add wrapping_add, fetch_sub wrapping_sub });
integer!(AtomicUsize, usize, {
    fetch_add wrapping_add, fetch_sub wrapping_sub, fetch_or bitor
});

/// loom's cell, which fails on a race, with the check for released memory.
#[derive(Debug)]
pub struct UnsafeCell<T>(loom::cell::UnsafeCell<T>, Object);

impl<T> UnsafeCell<T> {
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(
            loom::cell::UnsafeCell::new(value),
            Object::new("UnsafeCell", 0),
        )
    }

    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.1.begins(Step::Read, Ordering::Relaxed);
        assert_live(self);
        self.0.with(|value| {
            ended(());
            f(value)
        })
    }

    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.1.begins(Step::Write, Ordering::Relaxed);
        assert_live(self);
        self.0.with_mut(|value| {
            ended(());
            f(value)
        })
    }
}

impl<T> UnsafeCell<MaybeUninit<T>> {
    /// # Safety
    /// It may be written.
    #[track_caller]
    pub unsafe fn write_uninit(place: *mut Self) {
        // SAFETY: passed on from the caller.
        unsafe { place.write(Self::new(MaybeUninit::uninit())) };
    }
}

impl<T> Retire for UnsafeCell<T> {
    #[track_caller]
    fn retire(&mut self) {
        self.with_mut(|_| ());
    }
}

/// loom's threads.
pub mod thread {
    pub use loom::thread::{Builder, JoinHandle, ThreadId, yield_now};

    pub use super::locks::{Thread, current, park, park_timeout};
}
