//! [`Word`]: the two ends' one word, and a room beside it for the receiver's waker.
//!
//! The states are those of a [`Completion`](crate::Completion), whose completer is the sender and
//! whose waiter is the receiver, and one more, for a waker that is not boxed:
//!
//! | word | means | written by |
//! |---|---|---|
//! | `PENDING` | not finished, no waker registered | creation |
//! | `IN_ROOM` (4) | not finished; the first waker is registered, and is in the room | receiver, once |
//! | `W` (a [`ThinWaker`]) | not finished; a waker that has replaced the first one is registered | receiver |
//! | `DONE`, `ABANDONED` | the sender has sent, or was dropped | sender, once |
//! | `DETACHED` | the receiver was dropped or closed | receiver, last act |
//!
//! | operation | instruction | old value, and what to do with it |
//! |---|---|---|
//! | finish | `load(Acquire)`, then as in the next table | |
//! | poll, fast | `load(Acquire)` | an end: ready. The waker that is registered already: pending |
//! | poll, register | after `PENDING`: fill the room, `swap(IN_ROOM, AcqRel)`; otherwise `swap(W, AcqRel)` | `PENDING`: pending. An older waker: drop it, pending. An end: ready, and store it again |
//! | detach | `load(Acquire)`; unless that finds an end: copy the room, `swap(DETACHED, AcqRel)` | `PENDING`: nothing. A waker: drop it. An end: the block is the receiver's; store the end again |
//!
//! The law is that of a completion too: after its exchange, an end touches only what the exchange
//! returned, unless that gives it the block. The sender must therefore know the waker in the room
//! before its exchange, and looks first:
//!
//! | sees | what the sender does |
//! |---|---|
//! | `PENDING` | `compare_exchange(PENDING -> end)`, since the receiver may just be moving in. If it fails, go on with what it saw |
//! | `IN_ROOM` | copy the room, `swap(end)`. It returns `IN_ROOM`: wake the copy. Or `W` or `DETACHED`, as below |
//! | `W` | `swap(end)`. It returns this or a later `W`: wake it. `DETACHED`: as below |
//! | `DETACHED` | nothing. The block is the sender's |
//!
//! The rules of the room:
//!
//! 1. Only the receiver writes it, and only between a look that saw `PENDING` and the exchange that
//!    publishes `IN_ROOM`. The word never returns to `PENDING`, so this happens once.
//! 2. Each end copies the room before the exchange after which the other end may free it. The
//!    sender copies it only after it has seen `IN_ROOM`.
//! 3. A copy is a waker only for the end whose exchange took `IN_ROOM` out of the word, or that put
//!    it in and took it back. Every other copy is forgotten.
//!
//! The receiver moves in once and out once, so the sender makes at most one compare-exchange and
//! one exchange. It makes one of the two if the receiver does nothing at that moment.

use core::{
    any::type_name,
    mem::MaybeUninit,
    ptr,
    task::{Poll, Waker},
};

use crate::{
    completion::{ABANDONED, DETACHED, DONE, Ended, PENDING, how_ended, thin_waker_of},
    waker::{ThinWaker, WakerId, noted},
};
use joint_switch::{AtomicPtr, Retire, UnsafeCell, order};

const IN_ROOM: *mut () = ptr::without_provenance_mut(4);

/// The word of a channel. Every function takes a pointer, because after an exchange the other end
/// may free the memory.
pub(super) struct Word {
    state: AtomicPtr<()>,
    room: UnsafeCell<MaybeUninit<Waker>>,
}

impl Word {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicPtr::new(PENDING),
            room: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Ends the channel for the sender, as its last act, and wakes the receiver if it waits.
    /// Returns whether the receiver has detached, so that the block is the sender's.
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the sender's one call.
    #[inline]
    pub(super) unsafe fn finish(this: *const Self, how: Ended) -> bool {
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let state = unsafe { &(*this).state };
        let end = match how {
            Ended::Done => DONE,
            Ended::Abandoned => ABANDONED,
        };
        // ORDERING: look. Acquire: a waker in the room was written before `register` (Release), and
        // a detached receiver's accesses come before `detach` (Release).
        let mut seen = state.load(order!(look: Acquire));
        if seen == PENDING {
            // ORDERING: unobserved. Release: a receiver that reads the end sees what the sender
            // wrote (`poll`, `register` and `detach`, all Acquire). It has published nothing.
            let unobserved = order!(unobserved: Release);
            // ORDERING: missed. Acquire: as for `look`.
            let missed = order!(missed: Acquire);
            match state.compare_exchange(PENDING, end, unobserved, missed) {
                Ok(_) => return false,
                Err(now) => seen = now,
            }
        }
        let room = match seen {
            DETACHED => return true,
            // SAFETY: alive up to the exchange, and published.
            IN_ROOM => unsafe { Self::copy_room(this) },
            _ => MaybeUninit::uninit(),
        };
        // ORDERING: finish. Release: as for `unobserved`. Acquire: a waker that has replaced the
        // one in the room was written before `register` (Release), and a detached receiver's
        // accesses come before `detach` (Release). There is only one location, so no total order is
        // needed.
        let before = state.swap(end, order!(finish: AcqRel));
        if before == DETACHED {
            return true;
        }
        debug_assert!(how_ended(before).is_none(), "the sender has finished twice");
        // SAFETY: the word was not `PENDING` when it was looked at, so this is a waker, which the
        // exchange hands over. If it is in the room, it was there already, and `room` is its copy.
        unsafe { registered(before, room) }.wake();
        false
    }

    /// Returns how the sender has finished, or `None` if it has not. For the receiver.
    ///
    /// # Safety
    /// `this` is alive, and the receiver has not detached.
    #[inline]
    pub(super) unsafe fn ended(this: *const Self) -> Option<Ended> {
        // SAFETY: passed on from the caller.
        how_ended(unsafe { Self::seen_by_receiver(this) })
    }

    /// # Safety
    /// As for `ended`.
    #[inline]
    unsafe fn seen_by_receiver(this: *const Self) -> *mut () {
        // SAFETY: alive by this function's contract.
        let state = unsafe { &(*this).state };
        // ORDERING: poll. Acquire, with the Release of `unobserved` and `finish`: what the sender
        // wrote is visible.
        state.load(order!(poll: Acquire))
    }

    /// Returns whether the receiver has detached. For the sender.
    ///
    /// # Safety
    /// `this` is alive, and the sender has not finished.
    #[inline]
    pub(super) unsafe fn is_detached(this: *const Self) -> bool {
        // SAFETY: alive by this function's contract.
        let state = unsafe { &(*this).state };
        // ORDERING: is_detached. Relaxed: the answer is only a hint, since a sender that acts on it
        // looks again.
        state.load(order!(is_detached: Relaxed)) == DETACHED
    }

    /// Returns `Ready` if the sender has finished, and otherwise registers `waker` to be woken when
    /// it does. For the receiver, an `R`, whose memory of its registered waker is `last`.
    ///
    /// After `Ready` the block is the receiver's.
    ///
    /// # Safety
    /// `this` is alive, and the receiver has not detached.
    #[inline]
    pub(super) unsafe fn poll<R>(
        this: *const Self,
        waker: &Waker,
        last: &mut WakerId,
    ) -> Poll<Ended> {
        // SAFETY: passed on from the caller.
        let seen = unsafe { Self::seen_by_receiver(this) };
        if let Some(ended) = how_ended(seen) {
            return Poll::Ready(ended);
        }
        if last.is_of(waker) {
            return Poll::Pending;
        }
        // SAFETY: passed on from the caller.
        unsafe { Self::wait(this, seen, waker.clone(), type_name::<R>, last) }
    }

    /// # Safety
    /// As for `poll`. The receiver, which has that name, saw `seen` in the word, which was no end.
    #[inline(never)]
    unsafe fn wait(
        this: *const Self,
        seen: *mut (),
        waker: Waker,
        name: fn() -> &'static str,
        last: &mut WakerId,
    ) -> Poll<Ended> {
        if seen != PENDING || noted::is_on() {
            // SAFETY: passed on from the caller.
            return unsafe { Self::wait_slow(this, seen, waker, name, last) };
        }
        // SAFETY: as above.
        unsafe { Self::register(this, seen, waker, last) }
    }

    /// Registers a waker that is not the first, or that is noted, apart from the usual path, which
    /// therefore saves no registers.
    ///
    /// # Safety
    /// As for `wait`.
    #[cold]
    unsafe fn wait_slow(
        this: *const Self,
        seen: *mut (),
        waker: Waker,
        name: fn() -> &'static str,
        last: &mut WakerId,
    ) -> Poll<Ended> {
        // SAFETY: passed on from the caller.
        unsafe { Self::register(this, seen, noted::noted(waker, name), last) }
    }

    /// # Safety
    /// As for `wait`.
    #[inline(always)]
    unsafe fn register(
        this: *const Self,
        seen: *mut (),
        waker: Waker,
        last: &mut WakerId,
    ) -> Poll<Ended> {
        // SAFETY: alive by this function's contract.
        let Self { state, room } = unsafe { &*this };
        let id = WakerId::of(&waker);
        let raw = if seen == PENDING {
            room.with_mut(|place| {
                // SAFETY: by rule 1 no other thread accesses the room before it is published.
                unsafe { place.write(MaybeUninit::new(waker)) }
            });
            IN_ROOM
        } else {
            ThinWaker::from(waker).into_raw().as_ptr()
        };
        // ORDERING: register. Release: the sender that takes or copies the waker sees all of it
        // (`look`, `missed` and `finish`, Acquire). Acquire: if the sender finished first, its
        // value is visible (`unobserved` and `finish`, Release).
        let before = state.swap(raw, order!(register: AcqRel));
        let (old, poll) = match how_ended(before) {
            Some(ended) => {
                // ORDERING: restored. Relaxed: the sender has finished, and the word is the
                // receiver's. This comes before the waker is dropped, which is user code.
                state.store(before, order!(restored: Relaxed));
                (raw, Poll::Ready(ended))
            }
            None => {
                *last = id;
                (before, Poll::Pending)
            }
        };
        if old != PENDING {
            // SAFETY: alive by this function's contract, and this is the receiver.
            let room = unsafe { Self::copy_room(this) };
            // SAFETY: the waker that the exchange took out, or the one that it put in and that the
            // sender has not seen. It is in the room if the word says so.
            drop(unsafe { registered(old, room) });
        }
        poll
    }

    /// Detaches the receiver and drops its registered waker, unless the sender has finished.
    /// Returns how the sender has finished, in which case the block is the receiver's, and the word
    /// keeps its answer.
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and the receiver has not detached. This is the
    /// receiver's last call unless it returns an end.
    #[inline]
    pub(super) unsafe fn detach(this: *const Self) -> Option<Ended> {
        // SAFETY: passed on from the caller.
        if let Some(ended) = unsafe { Self::ended(this) } {
            return Some(ended);
        }
        // SAFETY: alive up to the exchange, and this is the receiver.
        let room = unsafe { Self::copy_room(this) };
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let state = unsafe { &(*this).state };
        // ORDERING: detach. Release: the receiver's accesses are over before a sender that reads
        // DETACHED frees the block (`look`, `missed` and `finish`, Acquire). Acquire: if the sender
        // finished first, its value is visible (`unobserved` and `finish`, Release).
        let before = state.swap(DETACHED, order!(detach: AcqRel));
        let ended = how_ended(before);
        if ended.is_some() {
            // ORDERING: put_back. Relaxed: as for `restored`.
            state.store(before, order!(put_back: Relaxed));
        } else if before != PENDING {
            // SAFETY: the waker of this receiver, which the exchange hands back. It was in the room
            // if the word says so.
            drop(unsafe { registered(before, room) });
        }
        ended
    }

    /// Copies what is in the room, which may be nothing.
    ///
    /// # Safety
    /// `this` is alive. The caller is the receiver, or has seen `IN_ROOM`.
    #[inline]
    unsafe fn copy_room(this: *const Self) -> MaybeUninit<Waker> {
        // SAFETY: alive by this function's contract.
        let room = unsafe { &(*this).room };
        // SAFETY: by rule 1 the room is not written after it was published, and before that only
        // the receiver accesses it.
        room.with(|place| unsafe { place.read() })
    }
}

impl Retire for Word {
    #[inline]
    fn retire(&mut self) {
        self.state.retire();
        self.room.retire();
    }
}

/// Returns the waker that `word` stands for.
///
/// # Safety
/// `word` is that of a waker, which the caller owns. If it is `IN_ROOM`, `room` is that waker.
#[inline]
unsafe fn registered(word: *mut (), room: MaybeUninit<Waker>) -> Waker {
    match word {
        // SAFETY: passed on from the caller.
        IN_ROOM => unsafe { room.assume_init() },
        // SAFETY: passed on from the caller.
        _ => unsafe { thin_waker_of(word) }.into(),
    }
}
