//! Atomics, locks and shared values.

pub use std::sync::{LockResult, OnceLock, PoisonError, TryLockError, TryLockResult};

pub use crate::{
    arc::{Arc, Weak},
    locks::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, WaitTimeoutResult},
};

/// The atomics.
pub mod atomic {
    use core::fmt;
    use core::ops::{BitAnd, BitOr, BitXor};
    use core::sync::atomic::{self, Ordering::SeqCst};
    pub use core::sync::atomic::{Ordering, compiler_fence};

    use crate::machine::{self, Act, touch};

    /// Makes a fence, which costs something if it is sequentially consistent.
    pub fn fence(order: Ordering) {
        machine::fence(order == Ordering::SeqCst);
    }

    macro_rules! atomic {
        ($name:ident $(<$t:ident>)?, $value:ty, $($fetch:ident $next:expr),*) => {
            /// The atomic of that name, with the layout of std's.
            #[repr(transparent)]
            pub struct $name $(<$t>)? (atomic::$name $(<$t>)?);

            impl $(<$t>)? fmt::Debug for $name $(<$t>)? {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }

            #[allow(missing_docs, reason = "the names are those of std")]
            impl $(<$t>)? $name $(<$t>)? {
                pub const fn new(value: $value) -> Self {
                    Self(atomic::$name::new(value))
                }

                fn touch(&self, act: Act) {
                    touch(core::ptr::from_ref(self).addr(), act);
                }

                pub fn load(&self, _: Ordering) -> $value {
                    self.touch(Act::Load);
                    self.0.load(SeqCst)
                }

                /// # Safety
                /// Nobody writes.
                pub unsafe fn unsync_load(&self) -> $value {
                    self.0.load(SeqCst)
                }

                pub fn store(&self, value: $value, order: Ordering) {
                    self.touch(if order == SeqCst { Act::Exchange } else { Act::Store });
                    self.0.store(value, SeqCst);
                }

                pub fn swap(&self, value: $value, _: Ordering) -> $value {
                    self.touch(Act::Exchange);
                    self.0.swap(value, SeqCst)
                }

                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    _: Ordering,
                    _: Ordering,
                ) -> Result<$value, $value> {
                    self.touch(Act::Exchange);
                    self.0.compare_exchange(current, new, SeqCst, SeqCst)
                }

                pub fn compare_exchange_weak(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(current, new, success, failure)
                }

                pub fn fetch_update(
                    &self,
                    set: Ordering,
                    fetch: Ordering,
                    mut f: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut before = self.load(fetch);
                    while let Some(next) = f(before) {
                        match self.compare_exchange(before, next, set, fetch) {
                            Ok(_) => return Ok(before),
                            Err(now) => before = now,
                        }
                    }
                    Err(before)
                }

                pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                    f(self.0.get_mut())
                }

                $(pub fn $fetch(&self, value: $value, _: Ordering) -> $value {
                    self.touch(Act::Exchange);
                    let before = self.0.load(SeqCst);
                    let next: fn($value, $value) -> $value = $next;
                    self.0.store(next(before, value), SeqCst);
                    before
                })*
            }
        };
    }

    macro_rules! integers {
        ($($name:ident $value:ident),*) => {$(
            atomic!(
                $name, $value,
                fetch_add $value::wrapping_add, fetch_sub $value::wrapping_sub,
                fetch_and BitAnd::bitand, fetch_or BitOr::bitor, fetch_xor BitXor::bitxor
            );

            impl Default for $name {
                fn default() -> Self {
                    Self::new(0)
                }
            }
        )*};
    }

    integers!(AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize);
    atomic!(
        AtomicBool, bool,
        fetch_and BitAnd::bitand, fetch_or BitOr::bitor, fetch_xor BitXor::bitxor
    );
    atomic!(AtomicPtr<T>, *mut T,);
}
