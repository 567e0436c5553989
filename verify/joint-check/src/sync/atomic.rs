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
#[track_caller]
pub fn fence(ordering: Ordering) {
    assert_ne!(
        ordering,
        Ordering::Relaxed,
        "a relaxed fence orders nothing"
    );
    perform("fence", Request::Fence(ordering));
}

/// The old name of [`spin_loop`](crate::hint::spin_loop).
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

/// The location of an atomic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word(Id);

impl Word {
    /// Creates a location. `name` is that of the type to which it belongs, such as `Mutex`.
    #[track_caller]
    pub(crate) fn new(name: &'static str, value: u64) -> Self {
        let kind = Kind::Atomic;
        Self(perform(name, Request::Make { kind, value }).id)
    }

    pub(crate) const fn at(place: Id) -> Self {
        Self(place)
    }

    pub(crate) fn place(self) -> Id {
        self.0
    }

    /// Does an operation and returns the value that it has read.
    #[track_caller]
    pub(crate) fn access(
        self,
        name: &'static str,
        op: Op,
        ordering: Ordering,
        failure: Ordering,
    ) -> u64 {
        let place = self.0;
        let request = Request::Access {
            place,
            op,
            ordering,
            failure,
        };
        perform(name, request).value
    }

    #[track_caller]
    pub(crate) fn load(self, name: &'static str, ordering: Ordering) -> u64 {
        self.access(name, Op::Load, ordering, ordering)
    }

    /// Writes what `with` returns for the value and the operand, or waits if it returns nothing.
    #[track_caller]
    pub(crate) fn wait(
        self,
        name: &'static str,
        operand: u64,
        with: fn(u64, [u64; 2]) -> Option<u64>,
    ) -> u64 {
        let op = Op::Update {
            with,
            operands: [operand, 0],
            awaits: true,
        };
        self.access(name, op, Ordering::Acquire, NONE)
    }

    /// Writes what `with` returns for the value and the operand, if it returns anything.
    #[track_caller]
    pub(crate) fn update(
        self,
        name: &'static str,
        operand: u64,
        ordering: Ordering,
        with: fn(u64, [u64; 2]) -> Option<u64>,
    ) -> u64 {
        let op = Op::Update {
            with,
            operands: [operand, 0],
            awaits: false,
        };
        self.access(name, op, ordering, NONE)
    }

    #[track_caller]
    pub(crate) fn store(self, name: &'static str, value: u64, ordering: Ordering) {
        let place = self.0;
        let request = Request::Store {
            place,
            value,
            ordering,
        };
        perform(name, request);
    }
}

/// The failure ordering of an operation that cannot fail.
pub(crate) const NONE: Ordering = Ordering::Relaxed;

macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty, $into:expr, $from:expr, { $($extra:tt)* }) => {
        /// The atomic of that name.
        pub struct $name $(<$t>)? {
            word: Word,
            is: PhantomData<core::sync::atomic::$name $(<$t>)?>,
        }

        impl $(<$t>)? core::fmt::Debug for $name $(<$t>)? {
            /// Shows no value, because reading it would be an operation of the model.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl $(<$t>)? $name $(<$t>)? {
            /// Creates an atomic.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                let word = Word::new(stringify!($name), $into(value));
                Self { word, is: PhantomData }
            }

            /// Loads the value.
            #[track_caller]
            pub fn load(&self, ordering: Ordering) -> $value {
                $from(self.word.load("load", ordering))
            }

            /// Stores a value.
            #[track_caller]
            pub fn store(&self, value: $value, ordering: Ordering) {
                self.word.store("store", $into(value), ordering);
            }

            /// Stores a value, and returns the one before.
            #[track_caller]
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                $from(self.word.access("swap", Op::swap($into(value)), ordering, NONE))
            }

            /// Stores a value if the current one is `current`. Returns the one before.
            ///
            /// # Errors
            /// If it is another one.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (current, new) = ($into(current), $into(new));
                let op = Op::exchange(current, new, false);
                let before = self.word.access("compare_exchange", op, success, failure);
                if before == current { Ok($from(before)) } else { Err($from(before)) }
            }

            /// Does the same, because no exchange fails spuriously here.
            ///
            /// # Errors
            /// If the value is another one.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Stores `new` if the value is `current`. Returns the value before.
            #[track_caller]
            pub fn compare_and_swap(
                &self,
                current: $value,
                new: $value,
                ordering: Ordering,
            ) -> $value {
                let failure = match ordering {
                    Ordering::AcqRel => Ordering::Acquire,
                    Ordering::Release => Ordering::Relaxed,
                    other => other,
                };
                self.compare_exchange(current, new, ordering, failure)
                    .unwrap_or_else(|before| before)
            }

            /// Loads the value, and exchanges it for what `f` returns, until an exchange succeeds.
            ///
            /// # Errors
            /// If `f` returns `None`.
            #[track_caller]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(failure);
                while let Some(new) = f(before) {
                    match self.compare_exchange(before, new, success, failure) {
                        Ok(before) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            /// Calls `f` with the value, through an exclusive reference.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                let place = self.word.place();
                let before = perform("with_mut", Request::Exclusive { place });
                let mut value = $from(before.value);
                let result = f(&mut value);
                leave(before.id, $into(value));
                result
            }

            /// Returns the value. It races with accesses that do not happen before it.
            ///
            /// # Safety
            /// None is needed here: the model fails if it races.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                let place = self.word.place();
                $from(perform("unsync_load", Request::Exclusive { place }).value)
            }

            /// Returns the value.
            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                self.with_mut(|value| *value)
            }

            $($extra)*
        }

        impl $(<$t>)? From<$value> for $name $(<$t>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

/// A read-modify-write by a function of two values.
macro_rules! fetch {
    ($value:ty, $into:expr, $from:expr, $($name:ident: $with:expr),+ $(,)?) => {$(
        /// Changes the value, and returns the one before.
        #[track_caller]
        pub fn $name(&self, operand: $value, ordering: Ordering) -> $value {
            let with = |before: u64, [operand, _]: [u64; 2]| {
                let with: fn($value, $value) -> $value = $with;
                Some($into(with($from(before), $from(operand))))
            };
            $from(self.word.update(stringify!($name), $into(operand), ordering, with))
        }
    )+};
}

macro_rules! integers {
    ($($name:ident $value:ident),+ $(,)?) => {$(
        atomic!($name, $value, |value: $value| value as u64, |value: u64| value as $value, {
            fetch! {
                $value, |value: $value| value as u64, |value: u64| value as $value,
                fetch_add: |a, b| a.wrapping_add(b),
                fetch_sub: |a, b| a.wrapping_sub(b),
                fetch_and: |a, b| a & b,
                fetch_nand: |a, b| !(a & b),
                fetch_or: |a, b| a | b,
                fetch_xor: |a, b| a ^ b,
                fetch_max: |a, b| a.max(b),
                fetch_min: |a, b| a.min(b),
            }
        });
        default! { $name (Default::default()) }
    )+};
}

integers! {
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
}
atomic!(AtomicBool, bool, u64::from, |value| value != 0, {
    fetch! {
        bool, u64::from, |value| value != 0,
        fetch_and: |a, b| a & b,
        fetch_nand: |a, b| !(a & b),
        fetch_or: |a, b| a | b,
        fetch_xor: |a, b| a ^ b,
    }
});
default! { AtomicBool (false) }
atomic!(
    AtomicPtr<T>,
    *mut T,
    |value: *mut T| value.expose_provenance() as u64,
    |value: u64| core::ptr::with_exposed_provenance_mut::<T>(value as usize),
    {}
);
