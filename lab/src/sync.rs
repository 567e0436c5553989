//! loom's atomics, fence and mutex, recorded. The functions are those of [`loom::sync`].

mod mutex;

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

                $($extra)*
            }
        };
    }

    recorded!(AtomicUsize, usize, (|value: usize| value as u64), {
        /// Works as in [`std::sync::atomic`].
        #[track_caller]
        pub fn fetch_add(&self, value: usize, order: Ordering) -> usize {
            self.begins(update("fetch_add", value as u64), order);
            let before = self.0.fetch_add(value, order);
            recorder::ended_with(before as u64, before.wrapping_add(value) as u64);
            before
        }

        /// Calls `f` with exclusive access to the value.
        #[track_caller]
        pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut usize) -> R) -> R {
            self.begins(Step::Exclusive(0), Ordering::Relaxed);
            self.0.with_mut(|value| {
                let result = f(value);
                recorder::ended(*value as u64);
                result
            })
        }
    });

    impl Default for AtomicUsize {
        #[track_caller]
        fn default() -> Self {
            Self::new(0)
        }
    }

    recorded!(AtomicBool, bool, (|value: bool| u64::from(value)), {});
    recorded!(
        AtomicPtr<T>,
        *mut T,
        (|value: *mut T| value.addr() as u64),
        {}
    );
}

pub use mutex::{Mutex, MutexGuard};
