//! loom's atomics, fence and mutex, recorded. The functions are those of [`loom::sync`].

mod mutex;

/// The atomics.
pub mod atomic {
    use std::panic::Location;

    pub use std::sync::atomic::Ordering;

    use crate::lab::{event::Step, recorder};

    /// [`loom::sync::atomic::fence`].
    #[track_caller]
    pub fn fence(order: Ordering) {
        recorder::begins(0, Step::Fence, order, None, Location::caller());
        loom::sync::atomic::fence(order);
        recorder::ended(0);
    }

    fn update(name: &'static str, operand: u64) -> Step {
        Step::Update {
            name,
            operand,
            wrote: operand,
        }
    }

    macro_rules! recorded {
        ($name:ident $(<$t:ident>)?, $value:ty, $bits:expr, { $($extra:tt)* }) => {
            #[doc = concat!("[`loom::sync::atomic::", stringify!($name), "`].")]
            #[derive(Debug)]
            pub struct $name $(<$t>)? (loom::sync::atomic::$name $(<$t>)?, u64);

            impl $(<$t>)? $name $(<$t>)? {
                /// Makes an atomic.
                #[track_caller]
                pub fn new(value: $value) -> Self {
                    let place = recorder::made(stringify!($name), $bits(value), Location::caller());
                    Self(loom::sync::atomic::$name::new(value), place)
                }

                /// Names this atomic in pictures.
                #[must_use]
                pub fn named(self, name: &str) -> Self {
                    recorder::name_place(self.1, name);
                    self
                }

                #[track_caller]
                fn begins(&self, step: Step, order: Ordering) {
                    recorder::begins(self.1, step, order, None, Location::caller());
                }

                /// Works as in [`std::sync::atomic`].
                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    self.begins(Step::Load, order);
                    let value = self.0.load(order);
                    recorder::ended($bits(value));
                    value
                }

                /// Works as in [`std::sync::atomic`].
                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    self.begins(Step::Store($bits(value)), order);
                    self.0.store(value, order);
                    recorder::ended(0);
                }

                /// Works as in [`std::sync::atomic`].
                #[track_caller]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    self.begins(update("swap", $bits(value)), order);
                    let before = self.0.swap(value, order);
                    recorder::ended_with($bits(before), $bits(value));
                    before
                }

                /// Works as in [`std::sync::atomic`].
                ///
                /// # Errors
                /// Returns the value, if it is not the expected one.
                #[track_caller]
                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    let step = Step::Exchange {
                        current: $bits(current),
                        new: $bits(new),
                        failure,
                        done: false,
                    };
                    self.begins(step, success);
                    let answer = self.0.compare_exchange(current, new, success, failure);
                    let (Ok(before) | Err(before)) = answer;
                    recorder::ended($bits(before));
                    answer
                }

                /// Does the same as [`compare_exchange`](Self::compare_exchange), because loom's
                /// version never fails spuriously.
                ///
                /// # Errors
                /// Returns the value, if it is not the expected one.
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

                $($extra)*
            }
        };
    }

    macro_rules! exclusive {
        ($value:ty, $bits:expr) => {
            /// Calls `f` with exclusive access to the value.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                self.begins(Step::Exclusive(0), Ordering::Relaxed);
                self.0.with_mut(|value| {
                    let result = f(value);
                    recorder::ended($bits(*value));
                    result
                })
            }
        };
    }

    macro_rules! operations {
        ($value:ty, $bits:expr, $($name:ident: $after:expr;)*) => {$(
            /// Works as in [`std::sync::atomic`].
            #[track_caller]
            pub fn $name(&self, value: $value, order: Ordering) -> $value {
                self.begins(update(stringify!($name), $bits(value)), order);
                let before = self.0.$name(value, order);
                let after: fn($value, $value) -> $value = $after;
                recorder::ended_with($bits(before), $bits(after(before, value)));
                before
            }
        )*};
    }

    macro_rules! default {
        ($name:ident) => {
            impl Default for $name {
                #[track_caller]
                fn default() -> Self {
                    Self::new(Default::default())
                }
            }
        };
    }

    macro_rules! integers {
        ($($name:ident: $value:ty;)*) => {$(
            recorded!($name, $value, (|value: $value| value as u64), {
                exclusive!($value, (|value: $value| value as u64));
                operations! {
                    $value, (|value: $value| value as u64),
                    fetch_add: |before, value| before.wrapping_add(value);
                    fetch_sub: |before, value| before.wrapping_sub(value);
                    fetch_and: |before, value| before & value;
                    fetch_or: |before, value| before | value;
                    fetch_xor: |before, value| before ^ value;
                    fetch_max: |before, value| before.max(value);
                    fetch_min: |before, value| before.min(value);
                }
            });
            default!($name);
        )*};
    }

    integers! {
        AtomicU8: u8;
        AtomicU16: u16;
        AtomicU32: u32;
        AtomicU64: u64;
        AtomicUsize: usize;
        AtomicI32: i32;
        AtomicI64: i64;
        AtomicIsize: isize;
    }

    recorded!(AtomicBool, bool, (|value: bool| u64::from(value)), {
        operations! {
            bool, (|value: bool| u64::from(value)),
            fetch_and: |before, value| before & value;
            fetch_or: |before, value| before | value;
            fetch_xor: |before, value| before ^ value;
        }
    });
    default!(AtomicBool);
    recorded!(
        AtomicPtr<T>,
        *mut T,
        (|value: *mut T| value.addr() as u64),
        {
            exclusive!(*mut T, (|value: *mut T| value.addr() as u64));
        }
    );
}

pub use mutex::{Mutex, MutexGuard};
