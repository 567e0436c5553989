//! Atomics, locks and shared values.

pub use std::sync::{LockResult, OnceLock, PoisonError, TryLockError, TryLockResult};

pub use crate::{
    arc::{Arc, Weak},
    locks::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, WaitTimeoutResult},
};

/// The atomics.
pub mod atomic {
    use core::sync::atomic::{self, Ordering::SeqCst};
    pub use core::sync::atomic::{Ordering, compiler_fence};

    use crate::machine::{self, Act, touch};

    /// Makes a fence, which costs something if it is sequentially consistent.
    pub fn fence(order: Ordering) {
        machine::fence(order == Ordering::SeqCst);
    }

    /// Only one thread runs at a time, so the orderings decide nothing but costs.
    macro_rules! costing {
        (type $name:ident [$($t:ident)?] $value:ty) => {
            /// The atomic of that name, with the layout of std's.
            #[repr(transparent)]
            pub struct $name $(<$t>)? (atomic::$name $(<$t>)?);

            joint_facade::shows_its_name! { $name $(<$t>)? }

            impl $(<$t>)? $name $(<$t>)? {
                fn touch(&self, act: Act) {
                    touch(core::ptr::from_ref(self).addr(), act);
                }

                /// Costs nothing.
                ///
                /// # Safety
                /// Nobody writes.
                pub unsafe fn unsync_load(&self) -> $value {
                    self.0.load(SeqCst)
                }
            }
        };
        (new $name:ident $value:ident) => {
            Self(atomic::$name::new($value))
        };
        (load $it:ident $order:ident) => {{
            let _ = $order;
            $it.touch(Act::Load);
            $it.0.load(SeqCst)
        }};
        (store $it:ident $value:ident $order:ident) => {{
            $it.touch(if $order == SeqCst { Act::Exchange } else { Act::Store });
            $it.0.store($value, SeqCst);
        }};
        (modify $it:ident $t:ty, $method:ident ($next:expr) $operand:ident $order:ident) => {{
            let _ = $order;
            $it.touch(Act::Exchange);
            let before = $it.0.load(SeqCst);
            let next: fn($t, $t) -> $t = $next;
            $it.0.store(next(before, $operand), SeqCst);
            before
        }};
        (
            exchange $it:ident $method:ident [$current:ident, $new:ident]
            $success:ident $failure:ident
        ) => {{
            let _ = ($success, $failure);
            $it.touch(Act::Exchange);
            $it.0.compare_exchange($current, $new, SeqCst, SeqCst)
        }};
        (with_mut $it:ident $f:ident) => {
            $f($it.0.get_mut())
        };
        (update $it:ident $f:ident $set:ident $fetch:ident) => {
            joint_facade::update!($it, $f, $set, $fetch)
        };
    }

    joint_facade::atomics!(costing [const]);
    joint_facade::atomics!(
        costing [const]: AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize
    );
}
