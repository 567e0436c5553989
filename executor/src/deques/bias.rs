//! [`Bias`]: a lock that costs its owner no read-modify-write while no thief wants it.
//!
//! One thread, the owner, enters very often, and for a few instructions. Other threads, the
//! thieves, come rarely. A thief suspends the bias, and gives it back when it leaves. While the
//! bias is suspended, the owner and that thief take turns by a second word, `lock`. Entering with
//! the bias and suspending it form a store-load race, with the same two cases as in `sleep.rs`:
//!
//! | the owner enters | a thief enters |
//! |---|---|
//! | O1 record that it is inside | T1 suspend the bias, unless it is suspended already |
//! | O2 light fence | T2 heavy fence |
//! | O3 read the bias. If it is suspended, step back and lock | T3 if the owner is not inside, lock |
//!
//! If O2 comes before T2, T3 sees O1 or what the owner has stored later, so the thief enters after
//! the owner has left. Otherwise O3 sees T1, and the owner takes the lock, or it sees that the
//! thief has given the bias back and is outside.
//!
//! # Nobody waits for long
//! A thief is not inside while it makes the heavy fence, which may take long: an owner that comes
//! meanwhile has the lock. The owner waits only for a thief that has the lock, for the few
//! instructions in which it moves tasks: 256 at most (`worker/lookout.rs`), 1.5 ns each. Fewer for
//! each visit would cost more heavy fences. If the system takes the thief's processor away in
//! between, the owner waits for that too, and after some looks sleeps, so that the thief can run
//! even if it has a lower priority. A thief waits for nobody. If the owner is inside even after
//! some looks, because the system has taken its processor away, or if another thief is there, the
//! thief gives up.
//!
//! `biased.rs` is a lock for an owner that others disturb more often. There the bias never
//! comes back.

use crate::fences::Fences;
use joint_switch::{AtomicUsize, looks, order, recheck, wait_until};

const NO: usize = 0;
const YES: usize = 1;

/// The number of looks after which a thief gives up, and after which the owner lets another thread
/// run before it looks again.
const LOOKS: usize = 64;

pub(super) struct Bias {
    /// Written by the owner alone.
    is_inside: AtomicUsize,
    /// Whether a thief has suspended the bias. Set back by that thief.
    is_suspended: AtomicUsize,
    /// Whether the owner or the thief is inside without the bias.
    is_locked: AtomicUsize,
}

impl Bias {
    pub(super) fn new() -> Self {
        Self {
            is_inside: AtomicUsize::new(NO),
            is_suspended: AtomicUsize::new(NO),
            is_locked: AtomicUsize::new(NO),
        }
    }

    /// Calls `f` while no other thread is inside. `f` must not unwind, and must not call this.
    ///
    /// # Safety
    /// The caller is the owner. All calls for this bias have the same fences.
    #[inline(always)]
    pub(super) unsafe fn enter<R>(&self, fences: Fences, f: impl FnOnce() -> R) -> R {
        // ORDERING: step_in. Relaxed: O1, ordered by the fence after it.
        self.is_inside.store(YES, order!(step_in: Relaxed));
        // ORDERING: enter_fence. SeqCst: O2, with `suspend_fence`.
        fences.light(order!(enter_fence: SeqCst));
        // ORDERING: bias_look. Acquire, with `resume`: what the last thief did is visible.
        // RECHECK: bias_suspended. O3: a thief that does not wait for the owner.
        if recheck!(bias_suspended: self.is_suspended.load(order!(bias_look: Acquire)) == YES) {
            return self.enter_suspended(f);
        }
        let result = f();
        // ORDERING: step_out. Release, with `owner_look`: what the owner did is visible.
        self.is_inside.store(NO, order!(step_out: Release));
        result
    }

    #[cold]
    #[inline(never)]
    fn enter_suspended<R>(&self, f: impl FnOnce() -> R) -> R {
        // ORDERING: step_back. Release, as `step_out`: a thief may read this instead.
        self.is_inside.store(NO, order!(step_back: Release));
        wait_until(|| self.lock());
        let result = f();
        self.unlock();
        result
    }

    /// Calls `f` while no other thread is inside, unless one is there for some time. Costs a heavy
    /// fence. `f` must not unwind.
    #[cold]
    pub(super) fn visit<R>(&self, fences: Fences, f: impl FnOnce() -> R) -> Option<R> {
        // ORDERING: suspend, suspend_not. Relaxed: T1, ordered by the fence after it, which also
        // acquires what the thief before did.
        let suspended = self.is_suspended.compare_exchange(
            NO,
            YES,
            order!(suspend: Relaxed),
            order!(suspend_not: Relaxed),
        );
        suspended.ok()?;
        // ORDERING: suspend_fence. SeqCst: T2, with `enter_fence`.
        fences.heavy(order!(suspend_fence: SeqCst));
        let is_free = self.is_owner_outside() && self.lock();
        let result = is_free.then(|| {
            let result = f();
            self.unlock();
            result
        });
        // ORDERING: resume. Release, with `bias_look`, and with `suspend` of the next thief.
        self.is_suspended.store(NO, order!(resume: Release));
        result
    }

    /// Checks up to `LOOKS` times whether the owner has left.
    fn is_owner_outside(&self) -> bool {
        looks(LOOKS, || {
            // ORDERING: owner_look. Acquire, with `step_out` and `step_back`.
            // RECHECK: owner_inside. T3: an owner that has still seen the bias.
            !recheck!(owner_inside: self.is_inside.load(order!(owner_look: Acquire)) == YES)
        })
    }

    /// Tries up to `LOOKS` times to take the lock.
    fn lock(&self) -> bool {
        looks(LOOKS, || {
            // ORDERING: lock, lock_not. Acquire, with `unlock`.
            let locked = self.is_locked.compare_exchange(
                NO,
                YES,
                order!(lock: Acquire),
                order!(lock_not: Relaxed),
            );
            locked.is_ok()
        })
    }

    fn unlock(&self) {
        // ORDERING: unlock. Release, with `lock`.
        self.is_locked.store(NO, order!(unlock: Release));
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use core::{
        hint,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
    };

    use super::{Bias, Fences};
    use crate::interrupt::interrupt;

    /// The thief has lost the processor to the owner, and gets it back although the owner has the
    /// higher real-time priority.
    #[test]
    fn an_owner_lets_a_thief_of_lower_priority_move_on() {
        let (bias, is_coming) = (Bias::new(), AtomicBool::new(false));
        let thief = |start_owner: &dyn Fn()| {
            let visited = bias.visit(Fences::ordinary(), || {
                start_owner();
                while !is_coming.load(Relaxed) {
                    hint::spin_loop();
                }
            });
            assert!(visited.is_some());
        };
        interrupt(thief, || {
            is_coming.store(true, Relaxed);
            // SAFETY: this thread alone is the owner.
            unsafe { bias.enter(Fences::ordinary(), || ()) };
        });
    }
}
