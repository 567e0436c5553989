//! The atomics.

use core::marker::PhantomData;
pub use core::sync::atomic::Ordering;

use crate::{
    graph::{Id, Kind, Op},
    run::{Request, leave, perform},
};

/// Makes a fence.
///
/// # Panics
/// If the ordering is relaxed.
pub fn fence(ordering: Ordering) {
    assert_ne!(
        ordering,
        Ordering::Relaxed,
        "a relaxed fence orders nothing"
    );
    perform(Request::Fence(ordering));
}

/// The location of an atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word(Id);

impl Word {
    pub(super) fn new(value: u64) -> Self {
        Self(
            perform(Request::Make {
                kind: Kind::Atomic,
                value,
            })
            .id,
        )
    }

    pub(super) fn access(self, op: Op, ordering: Ordering, failure: Ordering) -> u64 {
        access(self.0, op, ordering, failure)
    }

    pub(super) fn store(self, value: u64, ordering: Ordering) {
        perform(Request::Store {
            place: self.0,
            value,
            ordering,
        });
    }
}

pub(crate) fn access(place: Id, op: Op, ordering: Ordering, failure: Ordering) -> u64 {
    perform(Request::Access {
        place,
        op,
        ordering,
        failure,
    })
    .value
}

/// The value of a load that is part of a failed exchange.
const NONE: Ordering = Ordering::Relaxed;

macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty, $into:expr, $from:expr, { $($extra:tt)* }) => {
        /// The atomic of that name.
        #[derive(Debug)]
        pub struct $name $(<$t>)? {
            word: Word,
            is: PhantomData<core::sync::atomic::$name $(<$t>)?>,
        }

        impl $(<$t>)? $name $(<$t>)? {
            /// Creates an atomic.
            pub fn new(value: $value) -> Self {
                Self { word: Word::new($into(value)), is: PhantomData }
            }

            /// Loads the value.
            pub fn load(&self, ordering: Ordering) -> $value {
                $from(self.word.access(Op::Load, ordering, ordering))
            }

            /// Stores a value.
            pub fn store(&self, value: $value, ordering: Ordering) {
                self.word.store($into(value), ordering);
            }

            /// Stores a value, and returns the one before.
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                let op = Op::Modify { with: |_, new| new, operand: $into(value) };
                $from(self.word.access(op, ordering, NONE))
            }

            /// Stores a value if the current one is `current`. Returns the one before.
            ///
            /// # Errors
            /// If it is another one.
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (current, new) = ($into(current), $into(new));
                let op = Op::CompareExchange { current, new, awaits: false };
                let before = self.word.access(op, success, failure);
                if before == current { Ok($from(before)) } else { Err($from(before)) }
            }

            /// Does the same: no exchange fails for no reason.
            ///
            /// # Errors
            /// If the value is another one.
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Calls `f` with the value, through an exclusive reference.
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                let before = perform(Request::Exclusive { place: self.word.0 });
                let mut value = $from(before.value);
                let result = f(&mut value);
                leave(before.id, $into(value));
                result
            }

            $($extra)*
        }
    };
}

macro_rules! integer {
    ($name:ident, $value:ty) => {
        atomic!($name, $value, |value: $value| value as u64, |value: u64| value as $value, {
            integer!(fetch $value, fetch_add, wrapping_add);
            integer!(fetch $value, fetch_sub, wrapping_sub);
            integer!(fetch $value, fetch_and, bitand);
            integer!(fetch $value, fetch_or, bitor);
            integer!(fetch $value, fetch_xor, bitxor);
            integer!(fetch $value, fetch_max, max);
            integer!(fetch $value, fetch_min, min);
        });
    };
    (fetch $value:ty, $name:ident, $with:ident) => {
        /// Changes the value, and returns the one before.
        pub fn $name(&self, operand: $value, ordering: Ordering) -> $value {
            #[allow(unused_imports, reason = "the operators are functions of traits")]
            use core::{cmp::Ord, ops::{BitAnd, BitOr, BitXor}};
            let with = |before: u64, operand: u64| {
                (before as $value).$with(operand as $value) as u64
            };
            self.word.access(Op::Modify { with, operand: operand as u64 }, ordering, NONE) as $value
        }
    };
}

integer!(AtomicU8, u8);
integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);
atomic!(AtomicBool, bool, u64::from, |value| value != 0, {});
atomic!(
    AtomicPtr<T>,
    *mut T,
    |value: *mut T| value.expose_provenance() as u64,
    |value: u64| core::ptr::with_exposed_provenance_mut::<T>(value as usize),
    {}
);
