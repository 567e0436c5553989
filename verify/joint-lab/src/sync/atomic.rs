//! The atomics.

use std::panic::Location;

pub use std::sync::atomic::Ordering;

use crate::{event::Step, recorder};

/// [`loom::sync::atomic::fence`].
#[track_caller]
pub fn fence(order: Ordering) {
    recorder::begins(0, Step::Fence, order, None, Location::caller());
    loom::sync::atomic::fence(order);
    recorder::ended(0);
}

/// A value as the record has it.
trait Bits: Copy {
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($name:ident $value:ident),+ $(,)?) => {
        $(
            impl Bits for $value {
                fn bits(self) -> u64 {
                    self as u64
                }
            }
            with_mut! { $name [] $value }
        )+
        joint_facade::atomics! { recorded: $($name $value),+ }
    };
}

macro_rules! with_mut {
    ($name:ident [$($t:ident)?] $value:ty) => {
        impl $(<$t>)? $name $(<$t>)? {
            /// Calls `f` with exclusive access to the value.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                self.begins(Step::Exclusive(0), Ordering::Relaxed);
                self.0.with_mut(|value| {
                    let result = f(value);
                    recorder::ended(value.bits());
                    result
                })
            }
        }
    };
}

/// The bodies of the atomics: loom's operation, recorded.
macro_rules! recorded {
    (type $name:ident [$($t:ident)?] $value:ty) => {
        #[doc = concat!("[`loom::sync::atomic::", stringify!($name), "`].")]
        #[derive(Debug)]
        pub struct $name $(<$t>)? (loom::sync::atomic::$name $(<$t>)?, u64);

        named! { $name $(<$t>)? }

        impl $(<$t>)? $name $(<$t>)? {
            #[track_caller]
            fn begins(&self, step: Step, order: Ordering) {
                recorder::begins(self.1, step, order, None, Location::caller());
            }
        }
    };
    (new $name:ident $value:ident) => {{
        let place = recorder::made(stringify!($name), $value.bits(), Location::caller());
        Self(loom::sync::atomic::$name::new($value), place)
    }};
    (load $it:ident $order:ident) => {{
        $it.begins(Step::Load, $order);
        let value = $it.0.load($order);
        recorder::ended(value.bits());
        value
    }};
    (store $it:ident $value:ident $order:ident) => {{
        $it.begins(Step::Store($value.bits()), $order);
        $it.0.store($value, $order);
        recorder::ended(0);
    }};
    (modify $it:ident $value:ty, $method:ident ($next:expr) $operand:ident $order:ident) => {{
        let step = Step::Update {
            name: stringify!($method),
            operand: $operand.bits(),
            wrote: $operand.bits(),
        };
        $it.begins(step, $order);
        let before = $it.0.$method($operand, $order);
        let next: fn($value, $value) -> $value = $next;
        recorder::ended_with(before.bits(), next(before, $operand).bits());
        before
    }};
    (exchange $it:ident $method:ident [$current:ident, $new:ident] $success:ident $failure:ident) => {{
        let step = Step::Exchange {
            current: $current.bits(),
            new: $new.bits(),
            failure: $failure,
            done: false,
        };
        $it.begins(step, $success);
        let answer = $it.0.compare_exchange($current, $new, $success, $failure);
        let (Ok(before) | Err(before)) = answer;
        recorder::ended(before.bits());
        answer
    }};
    (update $it:ident $f:ident $set:ident $fetch:ident) => {
        joint_facade::update!($it, $f, $set, $fetch)
    };
}

integers! {
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
}
joint_facade::atomics! { recorded }
with_mut! { AtomicPtr [T] *mut T }

impl Bits for bool {
    fn bits(self) -> u64 {
        self.into()
    }
}

impl<T> Bits for *mut T {
    fn bits(self) -> u64 {
        self.addr() as u64
    }
}
