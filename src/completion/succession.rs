//! Three operations of a waiter's word that lies in a list of such words: a waiter vacates it, and
//! a later one takes it over.
//!
//! | word | means here | written by |
//! |---|---|---|
//! | `W` (a [`ThinWaker`]) | the one waiter that holds the word is registered | that waiter |
//! | `DETACHED` | vacant | the waiter that has left |
//! | `DONE`, `ABANDONED` | the end | completer, once |
//!
//! | operation | instruction | outcome, and what to do |
//! |---|---|---|
//! | preset | `store(W)`, before the word is published | |
//! | vacate | `load`, `compare_exchange(W -> DETACHED)` | success: drop the waker. The end: nothing |
//! | succeed | `compare_exchange(DETACHED -> W)` | success: registered. A waker: another waiter is here. The end: ready |
//!
//! The memory of such a word outlives both sides, so its end decides only which waker to wake. To
//! detach would be wrong: that also overwrites `DONE` with `DETACHED`, and a waiter that followed
//! would then wait for a completer that has already finished. Here the end stays. A waiter
//! exchanges either its own `W`, which only it and the completer may replace, or `DETACHED`, which
//! it makes its own. So at most one waiter holds the word, and each waker is taken out once: by its
//! waiter, or by the completer.

use core::ptr::NonNull;

use super::{Completion, DETACHED, Ended};
use crate::waker::ThinWaker;
use joint_switch::order;

impl Completion {
    /// Registers a waker, given its [word](ThinWaker::into_raw), before the completer can see this
    /// completion. For the first waiter of one that is then put into a list. That waiter polls with
    /// [its memory of the waker](super::Registration::of).
    ///
    /// # Safety
    /// `this` is alive and new, and no other thread uses it before it is published. The caller
    /// takes the waker back if it is not.
    pub unsafe fn raw_preset(this: *const Self, waker: NonNull<()>) {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: preset. Relaxed: the publication makes it visible.
        word.store(waker.as_ptr(), order!(preset: Relaxed));
    }

    /// Takes a registered waiter's waker back, so that the word is vacant. Returns `None` if the
    /// completer has finished, because the completer took the waker.
    ///
    /// # Cost
    /// One load, and one atomic read-modify-write unless the completer has finished.
    ///
    /// # Safety
    /// `this` is alive, and outlives the completer. The caller is its waiter, is registered, and
    /// does not touch the word after this call.
    pub unsafe fn raw_vacate(this: *const Self) -> Option<ThinWaker> {
        // SAFETY: alive by this function's contract.
        let this = unsafe { &*this };
        // ORDERING: vacate, vacate_ended. Relaxed: the waker was written by this waiter, a
        // successor reads nothing of it, and the owner of the word learns by other means when to
        // free it. Only the completer can change the word between the load and the exchange.
        let seen = this.glance();
        if Ended::of(seen).is_some() {
            return None;
        }
        let (done, failed) = (order!(vacate: Relaxed), order!(vacate_ended: Relaxed));
        this.word
            .compare_exchange(seen, DETACHED, done, failed)
            .ok()?;
        // SAFETY: a value that is neither an end nor vacant is the waker of this waiter, which the
        // exchange hands back.
        Some(unsafe { ThinWaker::from_word(seen) })
    }

    /// Registers a waker, given its [word](ThinWaker::into_raw), in a completion that another
    /// waiter has vacated.
    ///
    /// # Errors
    /// Returns how the completer finished, or `None` if another waiter is registered. The caller
    /// keeps the waker in both cases.
    ///
    /// # Safety
    /// `this` is alive, and stays alive until the new waiter has [vacated](Completion::raw_vacate)
    /// it or has seen its end. `waker` is the word of a waker that the caller gives away if this
    /// succeeds.
    pub unsafe fn raw_succeed(this: *const Self, waker: NonNull<()>) -> Result<(), Option<Ended>> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: succeed. Release: the completer that takes the waker sees all of it
        // (`complete`, Acquire).
        let done = order!(succeed: Release);
        // ORDERING: succeed_ended. Acquire: what the completer wrote is visible (`complete`,
        // Release; `restore`, Release, if another waiter has restored the end).
        let failed = order!(succeed_ended: Acquire);
        match word.compare_exchange(DETACHED, waker.as_ptr(), done, failed) {
            Ok(_) => Ok(()),
            Err(now) => Err(Ended::of(now)),
        }
    }
}
