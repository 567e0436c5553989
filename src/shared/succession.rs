//! Two operations of a waiter's word that other [`Completion`]s do not have: a waiter vacates it,
//! and a later one takes it over.
//!
//! | word | means here | written by |
//! |---|---|---|
//! | `W` (a [`ThinWaker`]) | the one waiter that holds the word is registered | that waiter |
//! | `DETACHED` | vacant | the waiter that has left |
//! | `DONE`, `ABANDONED` | the end | sender, once |
//!
//! | operation | instruction | outcome, and what to do |
//! |---|---|---|
//! | preset | `store(W)`, before the word is published | |
//! | vacate | `load`, `compare_exchange(W -> DETACHED)` | success: drop the waker. The end: nothing |
//! | succeed | `compare_exchange(DETACHED -> W)` | success: registered. A waker: another waiter is here. The end: ready |
//!
//! The memory of such a word outlives both sides, so its end decides only which waker to wake. To
//! detach would be wrong: that also overwrites `DONE` with `DETACHED`, and a waiter that followed
//! would then wait for a sender that has already finished. Here the end stays. A waiter exchanges
//! either its own `W`, which only it and the sender may replace, or `DETACHED`, which it makes its
//! own. So at most one waiter holds the word, and each waker is taken out once: by its waiter, or
//! by the sender.

use core::ptr::NonNull;

use crate::{
    completion::{Completion, DETACHED, Ended, how_ended, thin_waker_of},
    waker::ThinWaker,
};
use joint_switch::order;

/// Registers a waker, given its word, before the sender can see this completion.
///
/// # Safety
/// `this` is alive and new, and no other thread uses it before it is published. The caller takes
/// the waker back if it is not.
pub(super) unsafe fn preset(this: *const Completion, waker: NonNull<()>) {
    // SAFETY: alive by this function's contract.
    let word = unsafe { Completion::raw_word(this) };
    // ORDERING: preset. Relaxed: the publication makes it visible.
    word.store(waker.as_ptr(), order!(preset: Relaxed));
}

/// Takes a registered waiter's waker back. Returns `None` if the sender has finished, because the
/// sender took the waker.
///
/// # Safety
/// `this` is alive. The caller is its waiter, is registered, and does not touch the word after this
/// call.
pub(super) unsafe fn vacate(this: *const Completion) -> Option<ThinWaker> {
    // SAFETY: alive by this function's contract.
    let word = unsafe { Completion::raw_word(this) };
    // ORDERING: held, vacate, vacate_ended. Relaxed: the waker was written by this waiter, a
    // successor reads nothing of it, and the owner of the word learns by other means when to free
    // it. Only the sender can change the word between the load and the exchange.
    let seen = word.load(order!(held: Relaxed));
    if how_ended(seen).is_some() {
        return None;
    }
    let (done, failed) = (order!(vacate: Relaxed), order!(vacate_ended: Relaxed));
    word.compare_exchange(seen, DETACHED, done, failed).ok()?;
    // SAFETY: a value that is neither an end nor vacant is the waker of this waiter, which the
    // exchange hands back.
    Some(unsafe { thin_waker_of(seen) })
}

/// Registers `waker` in a word that another waiter has vacated.
///
/// # Errors
/// Returns how the sender finished, or `None` if another waiter is registered. The caller keeps the
/// waker in both cases.
///
/// # Safety
/// `this` is alive, and stays alive until the new waiter has vacated it or has seen its end.
/// `waker` is the word of a waker that the caller gives away if this succeeds.
pub(super) unsafe fn succeed(
    this: *const Completion,
    waker: NonNull<()>,
) -> Result<(), Option<Ended>> {
    // SAFETY: alive by this function's contract.
    let word = unsafe { Completion::raw_word(this) };
    // ORDERING: succeed. Release: the sender that takes the waker sees all of it (`complete` and
    // `abandon`, Acquire).
    let done = order!(succeed: Release);
    // ORDERING: succeed_ended. Acquire: what the sender wrote is visible (`complete` and `abandon`,
    // Release; `restore`, Release, if another waiter has restored the end).
    let failed = order!(succeed_ended: Acquire);
    match word.compare_exchange(DETACHED, waker.as_ptr(), done, failed) {
        Ok(_) => Ok(()),
        Err(now) => Err(how_ended(now)),
    }
}
