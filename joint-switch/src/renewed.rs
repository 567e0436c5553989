//! [`Renewed`]: a static value that is made on first use, and made again once it no longer fits.
//!
//! It takes no lock, so that the child of a fork never inherits a lock that a thread of the parent
//! held. It is not modelled, because it is only for values that belong to threads of the operating
//! system, which no model runs.

use alloc::boxed::Box;
use core::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

/// A cell with one current value. Earlier values are never freed, because a thread may still hold a
/// reference to them.
#[derive(Debug)]
pub struct Renewed<T: 'static>(AtomicPtr<T>);

impl<T: Send + Sync> Renewed<T> {
    /// Creates a cell without a value.
    #[allow(clippy::new_without_default, reason = "only statics use it")]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the current value if it fits, and otherwise a new one, or that of another thread
    /// which was faster.
    pub fn get(&self, fits: impl Fn(&T) -> bool, make: impl Fn() -> T) -> &'static T {
        // Acquire, with the Release of the exchange below: the whole value is visible.
        let mut current = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: this is null, or a value from `Box::into_raw`, which is never freed after it
            // was stored.
            if let Some(value) = unsafe { current.as_ref() } {
                if fits(value) {
                    return value;
                }
            }
            let new = Box::into_raw(Box::new(make()));
            // Release: for the load above. Acquire on failure: as for the load.
            let stored =
                self.0
                    .compare_exchange(current, new, Ordering::Release, Ordering::Acquire);
            current = match stored {
                Ok(_) => new,
                Err(first) => {
                    // SAFETY: it came from `Box::into_raw`, and no other thread has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    first
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Renewed;
    use core::ptr;

    #[test]
    #[cfg_attr(miri, ignore = "the first value is leaked on purpose")]
    fn a_value_is_kept_as_long_as_it_fits() {
        static VALUE: Renewed<u32> = Renewed::new();
        let first = VALUE.get(|_| true, || 1);
        let same = VALUE.get(|&value| value == 1, || 2);
        assert!(ptr::eq(first, same));
        let renewed = VALUE.get(|&value| value == 2, || 2);
        assert_eq!((*first, *renewed), (1, 2));
    }

    #[test]
    fn threads_that_ask_at_once_get_the_same() {
        static VALUE: Renewed<u32> = Renewed::new();
        let (barrier, value) = (std::sync::Barrier::new(4), &VALUE);
        let ask = || {
            barrier.wait();
            ptr::from_ref(value.get(|_| true, || 7)).addr()
        };
        std::thread::scope(|s| {
            let threads = [(); 4].map(|()| s.spawn(ask));
            let [first, rest @ ..] = threads.map(|thread| thread.join().unwrap());
            assert_eq!(rest, [first; 3]);
        });
    }
}
