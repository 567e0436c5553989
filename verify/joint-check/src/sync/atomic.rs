//! The atomics.

use core::marker::PhantomData;
pub use core::sync::atomic::Ordering;

use joint_facade::Bits;

use crate::{
    graph::{Freely, Id, Kind, Op, Others, With},
    run::{self, Answer, Owned, Request, leave, perform},
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
    /// Creates a location. `name` is that of the type to which it belongs, such as `channel`.
    #[track_caller]
    pub(crate) fn new(name: &'static str, value: u64) -> Self {
        let kind = Kind::Atomic;
        Self(perform(name, Request::Make { kind, value }).id)
    }

    pub(crate) const fn at(place: Id) -> Self {
        Self(place)
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
        self.answer(name, op, ordering, failure).value
    }

    /// Does an operation that may have several outcomes.
    #[track_caller]
    pub(crate) fn answer(
        self,
        name: &'static str,
        op: Op,
        ordering: Ordering,
        failure: Ordering,
    ) -> Answer {
        let place = self.0;
        let request = Request::Access {
            place,
            op,
            ordering,
            failure,
        };
        perform(name, request)
    }

    #[track_caller]
    pub(crate) fn load(self, name: &'static str, ordering: Ordering) -> u64 {
        self.access(name, Op::Load, ordering, ordering)
    }

    /// Writes what `with` returns for the value and the operand, or waits if it returns nothing.
    #[track_caller]
    pub(crate) fn wait(self, name: &'static str, operand: u64, with: With) -> u64 {
        self.wait_or(name, operand, with, Others::None).value
    }

    /// Does the same, or what is in `others`.
    #[track_caller]
    pub(crate) fn wait_or(
        self,
        name: &'static str,
        operand: u64,
        with: With,
        others: Others,
    ) -> Answer {
        let op = Op::update(with, [operand, 0], true).or(others);
        self.answer(name, op, Ordering::Acquire, NONE)
    }

    /// Writes what `with` returns for the value and the operand, if it returns anything.
    #[track_caller]
    pub(crate) fn update(
        self,
        name: &'static str,
        operand: u64,
        ordering: Ordering,
        with: With,
    ) -> u64 {
        let op = Op::update(with, [operand, 0], false);
        self.access(name, op, ordering, NONE)
    }

    /// Adds to the value, or subtracts, as addition wraps.
    #[track_caller]
    pub(crate) fn add(self, name: &'static str, operand: u64, ordering: Ordering) -> u64 {
        let sum = |word: u64, [operand, _]: [u64; 2]| Some(word.wrapping_add(operand));
        self.update(name, operand, ordering, sum)
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

/// The location of a lock, which ends with it.
#[derive(Debug)]
pub(crate) struct OwnedWord(Owned);

impl OwnedWord {
    #[track_caller]
    pub(crate) fn new(name: &'static str, value: u64) -> Self {
        Self(Owned::new(name, Kind::Atomic, value))
    }

    /// Returns the location, for an operation.
    #[track_caller]
    pub(crate) fn get(&self) -> Word {
        Word::at(self.0.id())
    }
}

/// The failure ordering of an operation that cannot fail.
pub(crate) const NONE: Ordering = Ordering::Relaxed;

/// Panics, as std does, if no load or failed exchange has this ordering.
#[track_caller]
fn is_for_loads(of: &str, ordering: Ordering) -> Ordering {
    let is_one = !matches!(ordering, Ordering::Release | Ordering::AcqRel);
    assert!(is_one, "there is no such thing as {of} with {ordering:?}");
    ordering
}

/// Panics, as std does, if no store has this ordering.
#[track_caller]
fn is_for_stores(ordering: Ordering) -> Ordering {
    let is_one = !matches!(ordering, Ordering::Acquire | Ordering::AcqRel);
    assert!(
        is_one,
        "there is no such thing as a store with {ordering:?}"
    );
    ordering
}

/// The bodies of the atomics.
macro_rules! checked {
    (type $name:ident [$($t:ident)?] $value:ty) => {
        /// The atomic of that name.
        pub struct $name $(<$t>)? {
            place: Owned,
            is: PhantomData<core::sync::atomic::$name $(<$t>)?>,
        }

        joint_facade::shows_its_name! { $name $(<$t>)? }

        impl $(<$t>)? $name $(<$t>)? {
            /// Returns the value. It races with a write that does not happen before or after it.
            ///
            /// # Safety
            /// None is needed here: the model fails if it races.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                let place = self.place.id();
                Bits::of(perform("unsync_load", Request::PlainRead { place }).value)
            }

            #[track_caller]
            fn word(&self) -> Word {
                Word::at(self.place.id())
            }

            /// Returns the value.
            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                self.with_mut(|value| *value)
            }
        }
    };
    (new $name:ident $value:ident) => {
        Self {
            place: Owned::new(stringify!($name), Kind::Atomic, $value.bits()),
            is: PhantomData,
        }
    };
    (load $it:ident $order:ident) => {
        Bits::of($it.word().load("load", is_for_loads("a load", $order)))
    };
    (store $it:ident $value:ident $order:ident) => {
        $it.word().store("store", $value.bits(), is_for_stores($order))
    };
    (modify $it:ident $value:ty, $method:ident ($next:expr) $operand:ident $order:ident) => {{
        let with = |before, [operand, _]: [u64; 2]| {
            let next: fn($value, $value) -> $value = $next;
            Some(next(Bits::of(before), Bits::of(operand)).bits())
        };
        Bits::of($it.word().update(stringify!($method), $operand.bits(), $order, with))
    }};
    (exchange $it:ident $method:ident [$current:ident, $new:ident] $success:ident $failure:ident) => {{
        let op = Op::exchange($current.bits(), $new.bits(), false);
        let op = match stringify!($method) {
            "compare_exchange_weak" => op.or(Others::Spurious(Freely::Nothing)),
            _ => op,
        };
        let failure = is_for_loads("a failed exchange", $failure);
        let before = $it.word().answer("compare_exchange", op, $success, failure);
        match before.value == $current.bits() && before.outcome == 0 {
            true => Ok(Bits::of(before.value)),
            false => Err(Bits::of(before.value)),
        }
    }};
    (with_mut $it:ident $f:ident) => {{
        let place = $it.place.id();
        let before = perform("with_mut", Request::Exclusive { place });
        let mut value = Bits::of(before.value);
        let result = $f(&mut value);
        leave(before.id, value.bits());
        result
    }};
    (update $it:ident $f:ident $set:ident $fetch:ident) => {{
        if !run::limits().merges {
            return joint_facade::update!($it, $f, $set, $fetch);
        }
        let before = $it.load($fetch);
        let Some(new) = $f(before) else {
            return Err(before);
        };
        let (current, new) = (before.bits(), new.bits());
        let op = Op::Confirm { current, new };
        $it.word().access("fetch_update", op, $set, $fetch);
        Ok(before)
    }};
}

joint_facade::atomics! {
    checked:
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
}
joint_facade::atomics! { checked }
joint_facade::atomic! { @with_mut checked AtomicBool [] bool }
