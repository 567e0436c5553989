//! The names of std's atomics: what joint-check, cargo-joint-check, joint-cores, joint-lab and
//! joint-mutants share.
//!
//! [`atomics!`] declares methods with the names and the docs of std's. What they do is said by a
//! macro of the tool, here called `tool!`, which is called in the place of each body:
//!
//! | call | stands for |
//! |---|---|
//! | `tool! { type AtomicU8 [] u8 }` | the type, with what only this tool has; in brackets, the parameter of `AtomicPtr` |
//! | `tool! { new AtomicU8 value }` | `Self` |
//! | `tool! { load self order }` | the value |
//! | `tool! { store self value order }` | |
//! | `tool! { modify self u8 fetch_add (next) operand order }` | the value before; `next` is a function of it and of the operand |
//! | `tool! { exchange self compare_exchange [current, new] success failure }` | what `compare_exchange` returns |
//! | `tool! { with_mut self f }` | what `f` returns; not called for `AtomicBool` |
//! | `tool! { update self f set fetch }` | what `fetch_update` returns, for example by [`update!`] |
//!
//! All methods pass on the place of their call.
//!
//! The macros of `beside` are for the types beside the atomics.
//!
//! The functions say what orderings have, and find and say which half of one is missing.
//!
//! This package is for those five. All but the second pin its exact version, and the second takes
//! that of joint-check. It promises nothing to others.
#![no_std]

extern crate alloc;

mod beside;

use alloc::{
    collections::{BTreeMap, VecDeque},
    format,
    string::String,
    vec::Vec,
};
use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Declares `AtomicBool` and `AtomicPtr`, or the integers that are listed. With `[const]` behind
/// the name of the tool, `new` is a constant function.
#[macro_export]
macro_rules! atomics {
    ($tool:ident $(: $($integers:tt)+)?) => {
        $crate::atomics! { $tool [] $(: $($integers)+)? }
    };
    ($tool:ident $constant:tt) => {
        $crate::atomic! {
            $tool $constant AtomicBool [] bool,
            fetch_and |a, b| a & b, fetch_nand |a, b| !(a & b), fetch_or |a, b| a | b,
            fetch_xor |a, b| a ^ b
        }
        $crate::atomic! { $tool $constant AtomicPtr [T] *mut T }
        $crate::atomic! { @with_mut $tool AtomicPtr [T] *mut T }

        impl Default for AtomicBool {
            #[track_caller]
            fn default() -> Self {
                Self::new(false)
            }
        }

        impl<T> Default for AtomicPtr<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(::core::ptr::null_mut())
            }
        }
    };
    ($tool:ident $constant:tt: $($name:ident $value:ident),+ $(,)?) => {$(
        $crate::atomic! {
            $tool $constant $name [] $value,
            fetch_add $value::wrapping_add, fetch_sub $value::wrapping_sub,
            fetch_and |a, b| a & b, fetch_nand |a, b| !(a & b), fetch_or |a, b| a | b,
            fetch_xor |a, b| a ^ b, fetch_max Ord::max, fetch_min Ord::min
        }
        $crate::atomic! { @with_mut $tool $name [] $value }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    )+};
}

#[doc(hidden)]
#[macro_export]
macro_rules! atomic {
    (
        $tool:ident [$($constant:tt)?] $name:ident [$($t:ident)?] $value:ty
        $(, $fetch:ident $next:expr)*
    ) => {
        $tool! { type $name [$($t)?] $value }

        impl $(<$t>)? $name $(<$t>)? {
            /// Creates an atomic, in a model.
            #[track_caller]
            pub $($constant)? fn new(value: $value) -> Self {
                $tool! { new $name value }
            }

            /// Works as in std.
            #[track_caller]
            pub fn load(&self, order: ::core::sync::atomic::Ordering) -> $value {
                $tool! { load self order }
            }

            /// Works as in std.
            #[track_caller]
            pub fn store(&self, value: $value, order: ::core::sync::atomic::Ordering) {
                $tool! { store self value order }
            }

            $crate::atomic! { @modify $tool $value, swap |_, value| value $(, $fetch $next)* }
            $crate::atomic! { @exchange $tool $value, compare_exchange "Works as in std." }
            $crate::atomic! {
                @exchange $tool $value,
                compare_exchange_weak "Works as in std, except that it may never fail without a reason."
            }

            /// The deprecated method of std's. Returns the value before.
            #[track_caller]
            pub fn compare_and_swap(
                &self,
                current: $value,
                new: $value,
                order: ::core::sync::atomic::Ordering,
            ) -> $value {
                let failure = $crate::failure_of(order);
                let before: Result<_, _> =
                    $tool! { exchange self compare_and_swap [current, new] order failure };
                before.unwrap_or_else(|before| before)
            }

            /// Works as in std.
            ///
            /// # Errors
            /// If the function returns nothing. The error has the value that it was called with.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set: ::core::sync::atomic::Ordering,
                fetch: ::core::sync::atomic::Ordering,
                mut f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                $tool! { update self f set fetch }
            }

            /// The new name of `fetch_update`.
            ///
            /// # Errors
            /// If the function returns nothing. The error has the value that it was called with.
            #[track_caller]
            pub fn try_update(
                &self,
                set: ::core::sync::atomic::Ordering,
                fetch: ::core::sync::atomic::Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(set, fetch, f)
            }

            /// Works as in std.
            #[track_caller]
            pub fn update(
                &self,
                set: ::core::sync::atomic::Ordering,
                fetch: ::core::sync::atomic::Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let before = self.fetch_update(set, fetch, |value| Some(f(value)));
                before.unwrap_or_else(|before| before)
            }
        }

        impl $(<$t>)? From<$value> for $name $(<$t>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
    (@with_mut $tool:ident $name:ident [$($t:ident)?] $value:ty) => {
        impl $(<$t>)? $name $(<$t>)? {
            /// Calls `f` with exclusive access to the value.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                $tool! { with_mut self f }
            }
        }
    };
    (@modify $tool:ident $value:ty $(, $method:ident $next:expr)+) => {$(
        /// Works as in std.
        #[track_caller]
        pub fn $method(&self, value: $value, order: ::core::sync::atomic::Ordering) -> $value {
            $tool! { modify self $value, $method ($next) value order }
        }
    )+};
    (@exchange $tool:ident $value:ty, $method:ident $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// If the value is another one, which the error has.
        #[track_caller]
        pub fn $method(
            &self,
            current: $value,
            new: $value,
            success: ::core::sync::atomic::Ordering,
            failure: ::core::sync::atomic::Ordering,
        ) -> Result<$value, $value> {
            $tool! { exchange self $method [current, new] success failure }
        }
    };
}

/// Loads a value from an atomic, and exchanges it for what `f` returns, until an exchange succeeds:
/// the body of `fetch_update`.
#[macro_export]
macro_rules! update {
    ($it:expr, $f:ident, $set:expr, $fetch:expr) => {{
        let mut before = $it.load($fetch);
        while let Some(new) = $f(before) {
            match $it.compare_exchange(before, new, $set, $fetch) {
                Ok(before) => return Ok(before),
                Err(other) => before = other,
            }
        }
        Err(before)
    }};
}

/// The value of an atomic, as a word that a tool keeps.
pub trait Bits: Copy {
    /// Returns the word.
    fn bits(self) -> u64;

    /// Returns the value of a word.
    fn of(bits: u64) -> Self;
}

macro_rules! bits {
    ($($value:ident),+) => {$(
        impl Bits for $value {
            fn bits(self) -> u64 {
                self as u64
            }

            fn of(bits: u64) -> Self {
                bits as Self
            }
        }
    )+};
}

bits! { i8, i16, i32, i64, isize, u8, u16, u32, u64, usize }

impl Bits for bool {
    fn bits(self) -> u64 {
        self.into()
    }

    fn of(bits: u64) -> Self {
        bits != 0
    }
}

impl<T> Bits for *mut T {
    fn bits(self) -> u64 {
        self.expose_provenance() as u64
    }

    fn of(bits: u64) -> Self {
        core::ptr::with_exposed_provenance_mut(bits as usize)
    }
}

/// Returns the ordering of a `compare_and_swap` that fails.
pub const fn failure_of(order: Ordering) -> Ordering {
    match order {
        AcqRel => Acquire,
        Release => Relaxed,
        other => other,
    }
}

/// Returns whether an operation with this ordering acquires.
pub const fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

/// Returns whether an operation with this ordering releases.
pub const fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}

/// Says which half of a write, of the read that has read from it, or of both would order what is
/// before the write and after the read.
pub fn lacking(write: Ordering, read: Ordering, release: bool, acquire: bool) -> String {
    let first = with_half(write, true);
    let second = with_half(read, false);
    let lacking = match (release, acquire) {
        (true, true) => format!(
            "The release half of the first ({first}) and the acquire half of the second ({second})"
        ),
        (true, false) => format!("The release half of the first ({first})"),
        _ => format!("The acquire half of the second ({second})"),
    };
    format!("{lacking} would order them.")
}

fn with_half(order: Ordering, release: bool) -> String {
    let better = match (releases(order) || release, acquires(order) || !release) {
        (true, true) => AcqRel,
        (true, false) => Release,
        _ => Acquire,
    };
    format!("{better:?} instead of {order:?}")
}

/// Returns the path between two steps with the fewest missing edges: the steps after the first,
/// each with whether the edge to it is missing. `before` has the steps right before a step.
pub fn path<S: Copy + Ord>(
    first: S,
    last: S,
    before: impl Fn(S) -> Vec<(S, bool)>,
) -> Option<Vec<(S, bool)>> {
    let mut cost = BTreeMap::from([(last, 0)]);
    let mut next = BTreeMap::new();
    let mut queue = VecDeque::from([last]);
    while let Some(at) = queue.pop_front() {
        for (step, is_missing) in before(at) {
            let new = cost[&at] + u32::from(is_missing);
            if cost.get(&step).is_none_or(|&old| new < old) {
                cost.insert(step, new);
                next.insert(step, (at, is_missing));
                match is_missing {
                    true => queue.push_back(step),
                    false => queue.push_front(step),
                }
            }
        }
    }
    let mut path = Vec::new();
    let mut at = first;
    while at != last {
        let &(step, is_missing) = next.get(&at)?;
        path.push((step, is_missing));
        at = step;
    }
    Some(path)
}
