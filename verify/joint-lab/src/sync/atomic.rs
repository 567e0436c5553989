//! The atomics.

use std::panic::Location;

pub use std::sync::atomic::Ordering;

use joint_facade::Bits;

use crate::{event::Step, recorder};

/// [`loom::sync::atomic::fence`].
#[track_caller]
pub fn fence(order: Ordering) {
    recorder::begins(0, Step::Fence, order, None, Location::caller());
    loom::sync::atomic::fence(order);
    recorder::ended(0);
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
    (with_mut $it:ident $f:ident) => {{
        $it.begins(Step::Exclusive(0), Ordering::Relaxed);
        $it.0.with_mut(|value| {
            let result = $f(value);
            recorder::ended(value.bits());
            result
        })
    }};
    (update $it:ident $f:ident $set:ident $fetch:ident) => {
        joint_facade::update!($it, $f, $set, $fetch)
    };
}

joint_facade::atomics! {
    recorded:
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
}
joint_facade::atomics! { recorded }
