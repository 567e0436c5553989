//! The atomics under `--cfg joint_tsan`: those of `core`, whose reads all acquire.
//!
//! ThreadSanitizer knows no fences, so it would report an access that only a fence puts in order.
//! If each read acquires by itself, an acquire fence after it has nothing left to do. Stores stay
//! as they are, because no relaxed store of joint is published by a release fence before it.
//!
//! This hides a read that should acquire and does not. Whether each ordering is strong enough is a
//! question for the models.

pub use core::sync::atomic::fence;
use core::sync::atomic::{self, Ordering};

/// Returns the ordering with Acquire added to it.
const fn acquiring(order: Ordering) -> Ordering {
    match order {
        Ordering::Relaxed => Ordering::Acquire,
        Ordering::Release => Ordering::AcqRel,
        order => order,
    }
}

macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty: $($read:ident($($with:ident)?))*) => {
        /// The atomic of the same name in `core`, whose reads all acquire.
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name $(<$t>)? (atomic::$name $(<$t>)?);

        #[allow(missing_docs, reason = "the names are those of core")]
        impl $(<$t>)? $name $(<$t>)? {
            pub const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            $(pub fn $read(&self, $($with: $value,)? order: Ordering) -> $value {
                self.0.$read($($with,)? acquiring(order))
            })*

            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = (acquiring(success), acquiring(failure));
                self.0.compare_exchange(current, new, success, failure)
            }

            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.0.fetch_update(acquiring(set), acquiring(fetch), f)
            }
        }
    };
}

atomic!(AtomicPtr<T>, *mut T: load() swap(value));
atomic!(AtomicU32, u32: load() swap(value) fetch_add(value) fetch_sub(value));
#[cfg(target_has_atomic = "64")]
atomic!(AtomicU64, u64: load() swap(value) fetch_add(value) fetch_sub(value));
atomic!(AtomicUsize, usize: load() swap(value) fetch_add(value) fetch_sub(value) fetch_or(value));
