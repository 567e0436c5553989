//! [`Slotted`]: a word beside a [`WakerSlot`], in memory that either side may free. A waker of
//! another crate takes no box there.
//!
//! A waker in place is part of that memory, so each side must know it *before* its exchange. Both
//! therefore look first. The waiter's part is otherwise that of any [`Completion`]. The completer:
//!
//! | sees | what the completer does |
//! |---|---|
//! | `PENDING` | `compare_exchange(PENDING -> end)`, since the waiter may just be filling the slot. If it fails, go on with what it saw |
//! | a waker in place | copy it, `swap(end)`. It returns this waker: wake the copy. Or another one, or `DETACHED`, as below |
//! | another waker | `swap(end)`. It returns this or a later one: wake it. `DETACHED`: as below |
//! | `DETACHED` | nothing. The memory is the completer's |
//!
//! The rules of the slot:
//!
//! 1. Only the waiter writes it, and only between a look that saw `PENDING` and the exchange that
//!    publishes the waker. The word never returns to `PENDING`, so this happens once.
//! 2. Each side copies it before the exchange after which the other side may free it. The completer
//!    copies only after it has seen the waker there.
//! 3. A copy is a waker only for the side whose exchange took the slot's address out of the word,
//!    or that put it in and took it back. Every other copy is forgotten.
//!
//! The waiter moves in once and out once, so the completer makes at most one compare-exchange and
//! one exchange. It makes one of the two if the waiter does nothing at that moment.

use core::task::{Poll, Waker};

use super::{Completion, DETACHED, Ended, PENDING, Registration};
use crate::waker::{ThinWaker, WakerSlot};
use joint_switch::{const_unless_modelled, order};

/// A [`Completion`] with a place for a waker of another crate, which is then not boxed. For types
/// that embed it in memory that either side may free. It is three pointers in size.
///
/// The place is used if the first waker is of another crate. One that replaces it is boxed. What
/// the functions promise is what those of a [`Completion`] do.
///
/// # Example
/// ```
/// use joint::completion::{Completion, Ended, Registration, Slotted};
/// use std::task::{Poll, Waker};
///
/// let word: *const Slotted = &Slotted::new();
/// let mut registration = Registration::new();
/// let waker = Waker::noop();
/// // SAFETY: the word is alive, and the waiter never detaches.
/// let poll = unsafe { Slotted::raw_poll(word, waker, &mut registration, None) };
/// assert_eq!(poll, Poll::Pending);
/// // SAFETY: the word is alive, and this is the completer's one call.
/// assert!(!unsafe { Slotted::raw_finish(word, Ended::Done) });
/// // SAFETY: as above.
/// let ended = unsafe { Completion::raw_ended(Slotted::word(word)) };
/// assert_eq!(ended, Some(Ended::Done));
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Slotted {
    word: Completion,
    slot: WakerSlot,
}

impl Slotted {
    const_unless_modelled! {
        /// Creates a word that is not completed and has no waker registered.
        #[must_use]
        pub fn new() -> Self {
            Self { word: Completion::new(), slot: WakerSlot::new() }
        }
    }

    /// Returns the word, to [check](Completion::raw_ended) it. The functions that change it are
    /// those of `Slotted`.
    #[inline]
    pub fn word(this: *const Self) -> *const Completion {
        this.cast()
    }

    /// As [`Completion::raw_poll`]. If the owner of the thread notes waits, it is told this
    /// name of what is polled.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn raw_poll(
        this: *const Self,
        waker: &Waker,
        registration: &mut Registration,
        name: Option<fn() -> &'static str>,
    ) -> Poll<Ended> {
        // SAFETY: passed on from the caller.
        let seen = unsafe { &*Self::word(this) }.look();
        if let Some(ended) = Ended::of(seen) {
            return Poll::Ready(ended);
        }
        if registration.is_of(waker) {
            return Poll::Pending;
        }
        // SAFETY: passed on from the caller.
        unsafe { Self::register(this, waker.clone(), registration, seen, name) }
    }

    /// Registers the usual waker, which is the first one and not noted, apart from others. It
    /// therefore saves no registers.
    ///
    /// # Safety
    /// As for `raw_poll`. The word was `seen` by this waiter.
    #[inline(never)]
    unsafe fn register(
        this: *const Self,
        waker: Waker,
        registration: &mut Registration,
        seen: *mut (),
        name: Option<fn() -> &'static str>,
    ) -> Poll<Ended> {
        if seen != PENDING || has_notes() {
            // SAFETY: passed on from the caller.
            return unsafe { Self::register_slow(this, waker, registration, name) };
        }
        let id = Registration::of(&waker);
        // SAFETY: passed on from the caller.
        let thin = unsafe { Self::place(this, waker) };
        // SAFETY: as above.
        let word = unsafe { &*Self::word(this) };
        // SAFETY: as above.
        unsafe { word.exchange(thin, id, registration) }
    }

    /// # Safety
    /// As for `register`.
    #[cold]
    unsafe fn register_slow(
        this: *const Self,
        waker: Waker,
        registration: &mut Registration,
        name: Option<fn() -> &'static str>,
    ) -> Poll<Ended> {
        // SAFETY: passed on from the caller.
        let word = unsafe { &*Self::word(this) };
        let thin = |waker| {
            let waker = match name {
                Some(name) => noted(waker, name),
                None => waker,
            };
            // Only now, because the host's function may have polled here too.
            match word.look() {
                // SAFETY: passed on from the caller, and nothing is registered.
                PENDING => unsafe { Self::place(this, waker) },
                _ => waker.into(),
            }
        };
        // SAFETY: passed on from the caller.
        unsafe { word.register(waker, registration, thin) }
    }

    /// Puts the first waker into the slot, if it is of another crate.
    ///
    /// # Safety
    /// As for `raw_poll`, before the first registration.
    #[inline(always)]
    unsafe fn place(this: *const Self, waker: Waker) -> ThinWaker {
        // SAFETY: passed on from the caller.
        let slot = unsafe { &(*this).slot };
        // SAFETY: by rule 1 no other thread accesses the slot before it is published. By rule 2 it
        // is alive as long as its waker is used.
        unsafe { ThinWaker::placed(waker, slot) }
    }

    /// Finishes, as the completer's last act, and wakes the waiter if it waits. Returns whether the
    /// waiter has detached, so that the state that both shared is the completer's alone.
    ///
    /// # Cost
    /// One load and one atomic read-modify-write, or two if the waiter registers a waker or
    /// detaches at that very moment. The first one is a compare-exchange.
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the completer's only call.
    #[inline]
    pub unsafe fn raw_finish(this: *const Self, how: Ended) -> bool {
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let word = unsafe { &(*this).word.word };
        // ORDERING: look. Acquire: a waker in place was written before `register` (Release), and a
        // detached waiter's accesses come before `detach` (Release).
        let mut seen = word.load(order!(look: Acquire));
        if seen == PENDING {
            // ORDERING: unobserved. Release: a waiter that reads the end sees what the completer
            // wrote (`poll`, `register` and `detach`, all Acquire). It has published nothing.
            let unobserved = order!(unobserved: Release);
            // ORDERING: missed. Acquire: as for `look`.
            let missed = order!(missed: Acquire);
            match word.compare_exchange(PENDING, how.word(), unobserved, missed) {
                Ok(_) => return false,
                Err(now) => seen = now,
            }
        }
        if seen == DETACHED {
            return true;
        }
        // SAFETY: a waker that was registered, and by rule 2 alive up to the exchange.
        let copy = unsafe { ThinWaker::copy_in_place(seen) };
        // ORDERING: finish. Release: as for `unobserved`. Acquire: a waker that has replaced the
        // one in place was written before `register` (Release), and a detached waiter's accesses
        // come before `detach` (Release). There is only one location, so no total order is needed.
        let before = word.swap(how.word(), order!(finish: AcqRel));
        if before == DETACHED {
            return true;
        }
        debug_assert!(
            Ended::of(before).is_none(),
            "the completer has finished twice"
        );
        // SAFETY: the word was not `PENDING` when it was looked at, so this is a waker, which the
        // exchange hands over. If it is in place, it was there already, and `copy` is its copy.
        match unsafe { ThinWaker::or_copy(before, copy) } {
            Ok(waker) => waker.wake(),
            Err(in_place) => in_place.wake(),
        }
        false
    }

    /// Detaches the waiter and drops its registered waker, unless the completer has finished.
    /// Returns how the completer has finished, in which case the state that both shared is the
    /// waiter's alone, and the word keeps its answer.
    ///
    /// # Cost
    /// One load, and one atomic read-modify-write unless the completer has finished.
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and the waiter has not detached. This is the waiter's
    /// last call unless it returns an end.
    #[inline]
    pub unsafe fn raw_detach(this: *const Self) -> Option<Ended> {
        // SAFETY: passed on from the caller.
        let word = unsafe { &*Self::word(this) };
        let seen = word.look();
        if let Some(ended) = Ended::of(seen) {
            return Some(ended);
        }
        // SAFETY: what this waiter has registered, and by rule 2 alive up to the exchange.
        let copy = unsafe { ThinWaker::copy_in_place(seen) };
        let before = word.detach();
        let ended = Ended::of(before);
        if let Some(ended) = ended {
            // The completer has finished, so the word is alive and the waiter's.
            word.restore(ended);
        } else if before != PENDING {
            // SAFETY: the waker of this waiter, which the exchange hands back. It was in place if
            // the word says so.
            drop(unsafe { ThinWaker::or_copy(before, copy) });
        }
        ended
    }
}

retires!(Slotted: word, slot);

/// Returns what is to be registered for `waker`, with which an object is polled whose type has that
/// name.
#[cfg_attr(
    not(feature = "std"),
    expect(unused_variables, reason = "nobody notes anything")
)]
pub(crate) fn noted(waker: Waker, name: fn() -> &'static str) -> Waker {
    #[cfg(feature = "std")]
    if let Some(on_wait) = crate::host::part(|host| host.on_wait) {
        return on_wait(waker, name());
    }
    waker
}

/// Returns whether wakers may be noted.
#[inline]
fn has_notes() -> bool {
    #[cfg(feature = "std")]
    return crate::host::has_notes();
    #[cfg(not(feature = "std"))]
    false
}
