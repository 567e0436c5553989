//! The operations of atomics under `--cfg joint_tsan`: all reads acquire.
//!
//! ThreadSanitizer knows no fences, so it would report an access that only a fence puts in order.
//! If each read acquires by itself, an acquire fence after it has nothing left to do. Stores stay
//! as they are, because no relaxed store of joint is published by a release fence before it.
//!
//! This hides a read that should acquire and does not. Whether each ordering is strong enough is a
//! question for the models.

use core::sync::atomic::Ordering;
pub use core::sync::atomic::fence;

/// What only `--cfg joint_watch` uses.
pub(crate) trait Reads {
    #[allow(dead_code, reason = "see above")]
    fn read(&self) -> u64;
}

/// Returns the ordering with Acquire added to it.
pub(crate) const fn asked(order: Ordering) -> Ordering {
    match order {
        Ordering::Relaxed => Ordering::Acquire,
        Ordering::Release => Ordering::AcqRel,
        order => order,
    }
}

pub(crate) fn acted<R>(_: &impl Reads, _: impl FnOnce(&R) -> bool, act: impl FnOnce() -> R) -> R {
    act()
}
