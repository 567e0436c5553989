//! [`Biased`]: a lock that costs its owner no read-modify-write until another thread wants it.
//!
//! One thread, the owner, enters often. Other threads enter so rarely that the first of them may
//! take the bias away permanently. From then on the owner takes the lock like every other thread.
//! Entering with the bias and taking it away form a store-load race, with the same two cases as in
//! `sleep.rs`:
//!
//! | the owner enters | another thread locks, for the first time |
//! |---|---|
//! | O1 record that it is inside | R1 record that the bias is gone |
//! | O2 light fence | R2 heavy fence |
//! | O3 read the bias. If it is gone, step back and take the lock | R3 wait until the owner is not inside |
//!
//! If O2 comes before R2, R3 sees O1 and waits for the owner to leave. Otherwise O3 sees R1, and
//! the owner takes the lock, which the other thread holds all the while. The owner is inside for a
//! few instructions only, and runs no user code there, so R3 waits no longer than that, unless the
//! system has taken the owner's processor away.

use std::sync::PoisonError;

use super::fences::Fences;
use joint_switch::{AtomicUsize, Mutex, UnsafeCell, order, recheck, wait_until};

const NO: usize = 0;
const YES: usize = 1;

pub(crate) struct Biased<T> {
    /// Touched by the owner inside the bias, and otherwise by the thread that holds the lock.
    value: UnsafeCell<T>,
    /// Written by the owner alone.
    is_inside: AtomicUsize,
    /// Written under the lock.
    is_revoked: AtomicUsize,
    lock: Mutex<()>,
    /// The fences between the owner and the other threads.
    fences: Fences,
}

// SAFETY: one thread at a time has the value: the owner inside the bias, or the lock's holder.
unsafe impl<T: Send> Sync for Biased<T> {}

impl<T> Biased<T> {
    pub(crate) fn new(value: T, fences: Fences) -> Self {
        Self {
            value: UnsafeCell::new(value),
            is_inside: AtomicUsize::new(NO),
            is_revoked: AtomicUsize::new(NO),
            lock: Mutex::new(()),
            fences,
        }
    }

    /// Calls `f` with the value, as the owner.
    ///
    /// # Safety
    /// The caller is the owner, and no two calls overlap: `f` must not call `enter` again.
    #[inline]
    pub(crate) unsafe fn enter<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        /// Leaves, even on unwind, because a thread that takes the bias away waits for it.
        struct Inside<'a>(&'a AtomicUsize);
        impl Drop for Inside<'_> {
            #[inline]
            fn drop(&mut self) {
                // ORDERING: step_out. Release, with `wait_for_owner`: what the owner did inside is
                // visible.
                self.0.store(NO, order!(step_out: Release));
            }
        }
        // ORDERING: step_in. Relaxed: O1, ordered by the fence after it.
        self.is_inside.store(YES, order!(step_in: Relaxed));
        let inside = Inside(&self.is_inside);
        // ORDERING: enter_fence. SeqCst: O2, with `revoke_fence`.
        self.fences.light(order!(enter_fence: SeqCst));
        // ORDERING: bias_look. Relaxed: O3, ordered by the fence before it.
        // RECHECK: bias_gone. Another thread holds the lock, or will, and does not wait for the
        // owner.
        if recheck!(bias_gone: self.is_revoked.load(order!(bias_look: Relaxed)) == YES) {
            drop(inside);
            return self.with_lock(f);
        }
        // SAFETY: the owner is inside the bias, and only once by this function's contract.
        self.value.with_mut(|value| f(unsafe { &mut *value }))
    }

    /// Calls `f` with the value, from any thread, under the lock, and takes the bias away.
    #[cold]
    pub(crate) fn with_lock<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // ORDERING: revoked_look. Relaxed: written under the lock.
        if self.is_revoked.load(order!(revoked_look: Relaxed)) == NO {
            // ORDERING: revoke. Relaxed: R1, ordered by the fence after it.
            self.is_revoked.store(YES, order!(revoke: Relaxed));
            // ORDERING: revoke_fence. SeqCst: R2, with `enter_fence`.
            self.fences.heavy(order!(revoke_fence: SeqCst));
            // ORDERING: wait_for_owner. Acquire, with `step_out`.
            // RECHECK: owner_inside. R3: an owner that has still seen the bias.
            wait_until(
                || !recheck!(owner_inside: self.is_inside.load(order!(wait_for_owner: Acquire)) == YES),
            );
        }
        // SAFETY: the lock is held, and the owner is not inside the bias and never will be.
        let result = self.value.with_mut(|value| f(unsafe { &mut *value }));
        drop(lock);
        result
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use core::{
        hint,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
    };

    use super::{Biased, Fences};
    use crate::interrupt::interrupt;

    /// The owner has lost the processor to another thread, and gets it back although that thread
    /// has the higher real-time priority.
    #[test]
    fn another_thread_lets_an_owner_of_lower_priority_move_on() {
        let (value, is_coming) = (Biased::new(0, Fences::ordinary()), AtomicBool::new(false));
        let owner = |start_other: &dyn Fn()| {
            let add = |value: &mut i32| {
                start_other();
                while !is_coming.load(Relaxed) {
                    hint::spin_loop();
                }
                *value += 1;
            };
            // SAFETY: this thread alone is the owner, and enters once.
            unsafe { value.enter(add) };
        };
        interrupt(owner, || {
            is_coming.store(true, Relaxed);
            value.with_lock(|value| *value += 1);
        });
        assert!(value.with_lock(|value| *value != 1));
    }
}
