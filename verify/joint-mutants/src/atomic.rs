//! loom's atomics, each of whose operations asks [`change`] what to do.

use core::{
    fmt,
    sync::atomic::{
        self as real,
        Ordering::{self, AcqRel, Acquire, Relaxed, SeqCst},
    },
};

use loom::sync::atomic as model;

use crate::{named::Halves, place::Change};

#[track_caller]
fn change(operation: &'static str, order: Ordering, failure: Option<Ordering>) -> Option<Change> {
    crate::request::change([operation, ""], [Some(order), failure])
}

/// Makes a fence, or none if this process deletes it.
#[track_caller]
pub fn fence(order: Ordering) {
    match change("fence", order, None) {
        Some(Change::Order(Relaxed)) => {}
        Some(Change::Order(weaker)) => model::fence(weaker),
        _ => model::fence(order),
    }
}

/// Methods that cannot fail.
macro_rules! modify {
    ($value:ty: $($name:ident by $next:expr,)+) => {$(
        #[doc = concat!("`", stringify!($name), "` of std's atomics.")]
        #[track_caller]
        pub fn $name(&self, value: $value, order: Ordering) -> $value {
            match change(stringify!($name), order, None) {
                None => self.model.$name(value, order),
                Some(Change::Order(weaker)) => self.model.$name(value, weaker),
                Some(change) => {
                    let next: fn($value, $value) -> $value = $next;
                    self.in_parts(Halves::of(change, order, order), |before| Some(next(before, value)))
                }
            }
        }
    )+};
}

macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty, { $($extra:tt)* }) => {
        #[doc = concat!("loom's `", stringify!($name), "`, whose operations can be changed.")]
        pub struct $name $(<$t>)? {
            model: model::$name $(<$t>)?,
            /// What a blind load returns.
            initial: real::$name $(<$t>)?,
        }

        impl $(<$t>)? $name $(<$t>)? {
            /// Creates an atomic, in a model.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self {
                    model: model::$name::new(value),
                    initial: real::$name::new(value),
                }
            }

            /// `load` of std's atomics.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                match change("load", order, None) {
                    Some(Change::Order(weaker)) => self.model.load(weaker),
                    Some(Change::Blind) => {
                        // It is one of loom's steps, so a loop of loads is seen to have no end.
                        self.model.load(Relaxed);
                        self.initial.load(Relaxed)
                    }
                    _ => self.model.load(order),
                }
            }

            /// `store` of std's atomics.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                match change("store", order, None) {
                    Some(Change::Order(weaker)) => self.model.store(value, weaker),
                    Some(Change::Deleted) => {}
                    _ => self.model.store(value, order),
                }
            }

            modify! { $value: swap by |_, value| value, }

            /// `compare_exchange` of std's atomics.
            ///
            /// # Errors
            /// If the value is another one, which the error has.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.exchange("compare_exchange", current, new, success, failure)
            }

            /// `compare_exchange_weak` of std's atomics. As in loom, it fails only if the value is
            /// another one.
            ///
            /// # Errors
            /// If the value is another one, which the error has.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.exchange("compare_exchange_weak", current, new, success, failure)
            }

            /// The deprecated `compare_and_swap` of std's atomics.
            #[track_caller]
            pub fn compare_and_swap(
                &self,
                current: $value,
                new: $value,
                order: Ordering,
            ) -> $value {
                let failure = match order {
                    Acquire | AcqRel => Acquire,
                    SeqCst => SeqCst,
                    _ => Relaxed,
                };
                self.exchange("compare_and_swap", current, new, order, failure)
                    .unwrap_or_else(|before| before)
            }

            #[track_caller]
            fn exchange(
                &self,
                operation: &'static str,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                match change(operation, success, Some(failure)) {
                    None => self.model.compare_exchange(current, new, success, failure),
                    Some(Change::Order(weaker)) => {
                        self.model.compare_exchange(current, new, weaker, failure)
                    }
                    Some(Change::Failure(weaker)) => {
                        self.model.compare_exchange(current, new, success, weaker)
                    }
                    Some(Change::Blind) => Err(self.model.load(failure)),
                    Some(change) => {
                        let next = |before| (before == current).then_some(new);
                        let before = self.in_parts(Halves::of(change, success, failure), next);
                        if before == current { Ok(before) } else { Err(before) }
                    }
                }
            }

            /// `fetch_update` of std's atomics.
            ///
            /// # Errors
            /// If the function returns nothing. The error has the value that it was called with.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut next: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                match change("fetch_update", set_order, Some(fetch_order)) {
                    None => self.model.fetch_update(set_order, fetch_order, next),
                    Some(Change::Order(weaker)) => {
                        self.model.fetch_update(weaker, fetch_order, next)
                    }
                    Some(Change::Failure(weaker)) => {
                        self.model.fetch_update(set_order, weaker, next)
                    }
                    Some(change) => {
                        let mut is_some = false;
                        let halves = Halves::of(change, set_order, fetch_order);
                        let before = self.in_parts(halves, |before| {
                            let next = next(before);
                            is_some = next.is_some();
                            next
                        });
                        if is_some { Ok(before) } else { Err(before) }
                    }
                }
            }

            /// The load of a read-modify-write, and the store unless it is deleted.
            #[track_caller]
            fn in_parts(
                &self,
                halves: Halves,
                next: impl FnOnce($value) -> Option<$value>,
            ) -> $value {
                let before = self.model.load(halves.load);
                if let (Some(next), Some(order)) = (next(before), halves.store) {
                    self.model.store(next, order);
                }
                before
            }

            /// Loads the value without synchronization, as loom's atomics do.
            ///
            /// # Safety
            /// No other thread accesses the atomic at the same time.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                // SAFETY: as the caller promises.
                unsafe { self.model.unsync_load() }
            }

            /// Returns the value.
            #[track_caller]
            pub fn into_inner(self) -> $value {
                self.model.into_inner()
            }

            $($extra)*
        }

        impl $(<$t>)? fmt::Debug for $name $(<$t>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.model.fmt(f)
            }
        }

        impl $(<$t>)? From<$value> for $name $(<$t>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! with_mut {
    ($value:ty) => {
        /// Calls `f` with the value, as loom's atomics do.
        #[track_caller]
        pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
            self.model.with_mut(f)
        }
    };
}

macro_rules! integer {
    ($($name:ident, $value:ident;)+) => {$(
        atomic!($name, $value, {
            with_mut!($value);
            modify! { $value:
                fetch_add by $value::wrapping_add,
                fetch_sub by $value::wrapping_sub,
                fetch_and by |a, b| a & b,
                fetch_nand by |a, b| !(a & b),
                fetch_or by |a, b| a | b,
                fetch_xor by |a, b| a ^ b,
                fetch_max by Ord::max,
                fetch_min by Ord::min,
            }
        });

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    )+};
}

integer! {
    AtomicU8, u8;
    AtomicU16, u16;
    AtomicU32, u32;
    AtomicUsize, usize;
    AtomicI8, i8;
    AtomicI16, i16;
    AtomicI32, i32;
    AtomicIsize, isize;
}
#[cfg(target_pointer_width = "64")]
integer! {
    AtomicU64, u64;
    AtomicI64, i64;
}

atomic!(AtomicBool, bool, {
    modify! { bool:
        fetch_and by |a, b| a & b,
        fetch_nand by |a, b| !(a & b),
        fetch_or by |a, b| a | b,
        fetch_xor by |a, b| a ^ b,
    }
});

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

atomic!(AtomicPtr<T>, *mut T, {
    with_mut!(*mut T);
});

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(core::ptr::null_mut())
    }
}
