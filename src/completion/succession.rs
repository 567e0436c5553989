//! A [`Completion`] whose waiters follow one another: one vacates the word, and a later one takes it over.
//!
//! This is for a word whose memory outlives both sides, so that its end decides nothing but who wakes whom. `detach` would not
//! do: it puts `DETACHED` in the place of `DONE` as well, and whoever followed then would wait for a completer that has passed.
//!
//! | operation | instruction | what comes back, and what is left to do |
//! |---|---|---|
//! | vacate | `load`, `compare_exchange(W -> DETACHED)` | done: drop the waker. The end: nothing |
//! | succeed | `compare_exchange(DETACHED -> W)` | done: registered. A waker: another waits here. The end: ready |

use core::ptr::NonNull;

use super::{Completion, DETACHED, Ended, Registration, ended, waker_of};
use crate::{
    sync::{AtomicPtr, const_unless_modelled, order},
    waker::{ThinWaker, WakerWords},
};

impl Completion {
    const_unless_modelled! {
        /// A word whose waiter is registered already, by the word of its waker.
        pub(crate) fn registered(waker: NonNull<()>) -> Self {
            Self { word: AtomicPtr::new(waker.as_ptr()) }
        }
    }

    /// Takes a registered waiter's waker back, unless the completer has finished: then there is none.
    ///
    /// # Safety
    /// `this` is alive, and the caller is its waiter, which is registered and touches it no more.
    pub(crate) unsafe fn raw_vacate(this: *const Self) -> Option<ThinWaker> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: registered, vacate, vacate_ended. Relaxed: the waker is the waiter's own, a successor asks for nothing of
        // it, and whoever frees the word is told by other means. Only the completer can come between the two.
        let seen = word.load(order!(registered: Relaxed));
        if ended(seen).is_some() {
            return None;
        }
        let (done, failed) = (order!(vacate: Relaxed), order!(vacate_ended: Relaxed));
        word.compare_exchange(seen, DETACHED, done, failed).ok()?;
        // SAFETY: what is neither an end nor vacant is the waker of this waiter, which the exchange hands back.
        Some(unsafe { waker_of(seen) })
    }

    /// Registers `waker` in a word that another waiter has vacated. Otherwise it says how the completer finished, if it has,
    /// and the waker is still the caller's.
    ///
    /// # Safety
    /// `this` is alive, and stays so until the new waiter has vacated it or has learned of its end. `waker` is the word of a
    /// waker that the caller gives away where this succeeds.
    pub(crate) unsafe fn raw_succeed(
        this: *const Self,
        waker: NonNull<()>,
    ) -> Result<(), Option<Ended>> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: succeed. Release: the completer that takes the waker sees all of it (`complete` and `abandon`, Acquire).
        let done = order!(succeed: Release);
        // ORDERING: succeed_ended. Acquire: what the completer wrote is visible (`complete` and `abandon`, Release; `restore`,
        // Release, where another waiter has put the end back).
        let failed = order!(succeed_ended: Acquire);
        match word.compare_exchange(DETACHED, waker.as_ptr(), done, failed) {
            Ok(_) => Ok(()),
            Err(now) => Err(ended(now)),
        }
    }
}

impl Registration {
    /// The memory of a waker that was registered by its word.
    pub(crate) fn of(words: WakerWords) -> Self {
        Self(words)
    }
}
