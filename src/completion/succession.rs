//! A [`Completion`] whose waiters follow one another: a waiter vacates the word, and a later one
//! takes it over.
//!
//! This is for a word whose memory outlives both sides, so that its end decides only which waker to
//! wake. `detach` would be wrong here. It also overwrites `DONE` with `DETACHED`, and a waiter that
//! followed would then wait for a completer that has already finished.
//!
//! | operation | instruction | outcome, and what to do |
//! |---|---|---|
//! | vacate | `load`, `compare_exchange(W -> DETACHED)` | success: drop the waker. The end: nothing |
//! | succeed | `compare_exchange(DETACHED -> W)` | success: registered. A waker: another waiter is here. The end: ready |

use core::ptr::NonNull;

use super::{Completion, DETACHED, Ended, Registration, ended, waker_of};
use crate::waker::{ThinWaker, WakerId};
use joint_switch::{AtomicPtr, const_unless_modelled, order};

impl Completion {
    const_unless_modelled! {
        /// Creates a word with a registered waiter, given the word of its waker.
        pub(crate) fn with_registered(waker: NonNull<()>) -> Self {
            Self { word: AtomicPtr::new(waker.as_ptr()), space: () }
        }
    }

    /// Registers a waker, given its word, before the completer can see this completion.
    ///
    /// # Safety
    /// `this` is alive and new, and no other thread uses it before it is published. The caller
    /// takes the waker back if it is not.
    pub(crate) unsafe fn raw_preset(this: *const Self, waker: NonNull<()>) {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: preset. Relaxed: the publication makes it visible.
        word.store(waker.as_ptr(), order!(preset: Relaxed));
    }

    /// Takes a registered waiter's waker back. Returns `None` if the completer has finished,
    /// because the completer took the waker.
    ///
    /// # Safety
    /// `this` is alive. The caller is its waiter, is registered, and does not touch the word after
    /// this call.
    pub(crate) unsafe fn raw_vacate(this: *const Self) -> Option<ThinWaker> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: registered, vacate, vacate_ended. Relaxed: the waker was written by this
        // waiter, a successor reads nothing of it, and the owner of the word learns by other means
        // when to free it. Only the completer can change the word between the load and the
        // exchange.
        let seen = word.load(order!(registered: Relaxed));
        if ended(seen).is_some() {
            return None;
        }
        let (done, failed) = (order!(vacate: Relaxed), order!(vacate_ended: Relaxed));
        word.compare_exchange(seen, DETACHED, done, failed).ok()?;
        // SAFETY: a value that is neither an end nor vacant is the waker of this waiter, which the
        // exchange hands back.
        Some(unsafe { waker_of(seen) })
    }

    /// Registers `waker` in a word that another waiter has vacated.
    ///
    /// # Errors
    /// Returns how the completer finished, or `None` if another waiter is registered. The caller
    /// keeps the waker in both cases.
    ///
    /// # Safety
    /// `this` is alive, and stays alive until the new waiter has vacated it or has seen its end.
    /// `waker` is the word of a waker that the caller gives away if this succeeds.
    pub(crate) unsafe fn raw_succeed(
        this: *const Self,
        waker: NonNull<()>,
    ) -> Result<(), Option<Ended>> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: succeed. Release: the completer that takes the waker sees all of it (`complete`
        // and `abandon`, Acquire).
        let done = order!(succeed: Release);
        // ORDERING: succeed_ended. Acquire: what the completer wrote is visible (`complete` and
        // `abandon`, Release; `restore`, Release, if another waiter has restored the end).
        let failed = order!(succeed_ended: Acquire);
        match word.compare_exchange(DETACHED, waker.as_ptr(), done, failed) {
            Ok(_) => Ok(()),
            Err(now) => Err(ended(now)),
        }
    }
}

impl Registration {
    /// Creates the memory of a waker that was registered by its word.
    pub(crate) fn with_waker(waker: WakerId) -> Self {
        Self(waker)
    }
}
