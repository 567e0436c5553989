//! The atomics under `--cfg joint_tsan` and under `--cfg joint_watch`: those of `core`, of which
//! the file beside this one changes or watches each operation.

pub use super::with::fence;
use super::with::{Reads, acted, asked};
use core::sync::atomic::{self, Ordering};

macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty: $($read:ident($($with:ident)?))*) => {
        /// The atomic of the same name in `core`.
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name $(<$t>)? (atomic::$name $(<$t>)?);

        impl $(<$t>)? Reads for $name $(<$t>)? {
            fn read(&self) -> u64 {
                self.0.load(Ordering::Relaxed) as u64
            }
        }

        #[allow(missing_docs, reason = "the names are those of core")]
        impl $(<$t>)? $name $(<$t>)? {
            pub const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            $(pub fn $read(&self, $($with: $value,)? order: Ordering) -> $value {
                acted(self, |_| true, || self.0.$read($($with,)? asked(order)))
            })*

            pub fn store(&self, value: $value, order: Ordering) {
                acted(self, |()| true, || self.0.store(value, order));
            }

            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = (asked(success), asked(failure));
                let act = || self.0.compare_exchange(current, new, success, failure);
                acted(self, Result::is_ok, act)
            }

            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let (set, fetch) = (asked(set), asked(fetch));
                acted(self, Result::is_ok, || self.0.fetch_update(set, fetch, f))
            }
        }
    };
}

atomic!(AtomicPtr<T>, *mut T: load() swap(value));
atomic!(AtomicU32, u32: load() swap(value) fetch_add(value) fetch_sub(value));
#[cfg(target_has_atomic = "64")]
atomic!(AtomicU64, u64: load() swap(value) fetch_add(value) fetch_sub(value));
atomic!(AtomicUsize, usize: load() swap(value) fetch_add(value) fetch_sub(value) fetch_or(value));
