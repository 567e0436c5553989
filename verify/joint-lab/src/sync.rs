//! loom's atomics, fence, locks, condition variable, channel, `Notify` and `Arc`, recorded. The
//! functions are those of [`loom::sync`]. `Barrier` is loom's own, which panics.

mod arc;
pub mod mpsc;
mod mutex;
mod notify;
mod rwlock;

/// The atomics.
pub mod atomic {
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

    fn update(name: &'static str, operand: u64) -> Step {
        Step::Update {
            name,
            operand,
            wrote: operand,
        }
    }

    macro_rules! recorded {
        ($name:ident $(<$t:ident>)?, $value:ty, $bits:expr, [$($update:ident: $after:expr),*]) => {
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

                /// Works as in [`std::sync::atomic`], and never fails without a reason.
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

                /// Works as in [`std::sync::atomic`].
                ///
                /// # Errors
                /// Returns the value, if `f` returns nothing for it.
                #[track_caller]
                pub fn fetch_update(
                    &self,
                    set: Ordering,
                    fetch: Ordering,
                    mut f: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut before = self.load(fetch);
                    while let Some(new) = f(before) {
                        match self.compare_exchange(before, new, set, fetch) {
                            Ok(before) => return Ok(before),
                            Err(other) => before = other,
                        }
                    }
                    Err(before)
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

                $(
                    /// Works as in [`std::sync::atomic`].
                    #[track_caller]
                    pub fn $update(&self, value: $value, order: Ordering) -> $value {
                        self.begins(update(stringify!($update), $bits(value)), order);
                        let before = self.0.$update(value, order);
                        let after: fn($value, $value) -> $value = $after;
                        recorder::ended_with($bits(before), $bits(after(before, value)));
                        before
                    }
                )*
            }
        };
    }

    macro_rules! exclusive {
        ($name:ident $(<$t:ident>)?, $value:ty, $bits:expr) => {
            impl $(<$t>)? $name $(<$t>)? {
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
            }
        };
    }

    macro_rules! integers {
        ($($name:ident $value:ident,)*) => {$(
            recorded!($name, $value, (|value: $value| value as u64), [
                fetch_add: $value::wrapping_add,
                fetch_sub: $value::wrapping_sub,
                fetch_and: |before, value| before & value,
                fetch_nand: |before, value| !(before & value),
                fetch_or: |before, value| before | value,
                fetch_xor: |before, value| before ^ value,
                fetch_max: |before, value| before.max(value),
                fetch_min: |before, value| before.min(value)
            ]);
            exclusive!($name, $value, (|value: $value| value as u64));

            impl Default for $name {
                #[track_caller]
                fn default() -> Self {
                    Self::new(0)
                }
            }
        )*};
    }

    integers! {
        AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
        AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
    }

    recorded!(AtomicBool, bool, (|value: bool| u64::from(value)), [
        fetch_and: |before, value| before & value,
        fetch_nand: |before, value| !(before & value),
        fetch_or: |before, value| before | value,
        fetch_xor: |before, value| before ^ value
    ]);

    impl Default for AtomicBool {
        #[track_caller]
        fn default() -> Self {
            Self::new(false)
        }
    }

    recorded!(
        AtomicPtr<T>,
        *mut T,
        (|value: *mut T| value.addr() as u64),
        []
    );
    exclusive!(AtomicPtr<T>, *mut T, (|value: *mut T| value.addr() as u64));

    impl<T> Default for AtomicPtr<T> {
        #[track_caller]
        fn default() -> Self {
            Self::new(std::ptr::null_mut())
        }
    }
}

pub use arc::Arc;
pub use loom::sync::Barrier;
pub use mutex::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
pub use notify::Notify;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
