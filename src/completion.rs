//! [`Completion`]: one atomic word between a completer and a waiter.
//!
//! | word | means | written by |
//! |---|---|---|
//! | `PENDING` (null) | not completed, no waker registered | creation |
//! | `W` (a [`ThinWaker`]) | not completed, a waker is registered; the word owns that waker and nothing else | waiter |
//! | `DONE` (1) | completed | completer, once |
//! | `DETACHED` (2) | the waiter has detached and never reads the word again | waiter, last act |
//! | `ABANDONED` (3) | the completer has finished without completing | completer, once |
//! | `IN_ROOM` (4) | not completed, the first waker is registered, and is in the [`Room`] | waiter, once |
//!
//! | operation | instruction | old value, and what to do with it |
//! |---|---|---|
//! | complete, abandon | `swap(AcqRel)` | `PENDING`: nothing. `W`: wake it. `DETACHED`: the completer owns the shared state |
//! | poll, fast | `load(Acquire)` | `DONE`: ready. The waker that is registered already: pending |
//! | poll, register | `swap(W, AcqRel)` | `PENDING`: pending. An older `W`: drop it, pending. `DONE`: ready, and store `DONE` again |
//! | detach | `swap(DETACHED, AcqRel)` | `PENDING`: nothing. `W`: drop it. `DONE`: the waiter owns the shared state |
//!
//! No operation leaves a state in which the other side has to wait. Each is at most one load and
//! one exchange, plus one plain store if a registration finds the end and must restore it.
//!
//! For a word with a room beside it, whose completer looks before it finishes, see `room.rs`.
//!
//! **The law.** After its exchange, a side touches only what the exchange returned, unless the
//! returned value gives it the shared state. The other side may free the word at once.

use core::{
    fmt,
    mem::MaybeUninit,
    ptr::{self, NonNull},
    sync::atomic::Ordering,
    task::{Poll, Waker},
};

use crate::waker::{ThinWaker, WakerId};
use joint_switch::{AtomicPtr, Retire, const_unless_modelled, order};

mod room;
mod sides;

pub use room::{Room, Space};
pub use sides::{Abandoned, Completer, Waiter};

pub(crate) const PENDING: *mut () = ptr::null_mut();
pub(crate) const DONE: *mut () = ptr::without_provenance_mut(1);
pub(crate) const DETACHED: *mut () = ptr::without_provenance_mut(2);
pub(crate) const ABANDONED: *mut () = ptr::without_provenance_mut(3);
const IN_ROOM: *mut () = ptr::without_provenance_mut(4);

/// An atomic word between one completer and one waiter. It is exactly one pointer in size, or three
/// if it is created [with room](Completion::with_room) for a waker.
///
/// Use it in one of two ways: [`split`](Completion::split) it into a [`Completer`] and a [`Waiter`]
/// that borrow it, or embed it in a type of your own and drive it with the `raw_*` functions. The
/// documentation of each function says which side may call it.
///
/// # Happens-before
/// Everything that the completer did before it completed (or abandoned) happens before the waiter
/// sees the end. Everything that the waiter did before it registered its waker or detached happens
/// before the completer sees the waker or the detachment.
///
/// # Progress and cost
/// Every operation makes at most one load and one atomic read-modify-write, a swap. To complete or
/// abandon a word with room takes a compare-exchange instead, and one more of each if the waiter
/// registers or detaches at that very moment. Nothing is retried, so every operation is wait-free
/// on machines that have these two as instructions. Where the compiler makes a loop of them, it is
/// lock-free.
///
/// A waker of another crate is boxed while it is registered. With room, only a waker that replaces
/// the first one is.
///
/// # Example
/// ```
/// use joint::Completion;
///
/// let mut completion = Completion::new();
/// let (completer, waiter) = completion.split();
/// std::thread::scope(|s| {
///     s.spawn(|| completer.complete());
///     assert_eq!(waiter.blocking_wait(), Ok(()));
/// });
/// ```
#[repr(C)]
pub struct Completion<S = ()> {
    word: AtomicPtr<()>,
    space: S,
}

/// The outcome of the completer's exchange: what the completer must still do.
#[derive(Debug)]
#[must_use = "a returned waker must be woken, and the completer owns what a detached waiter has left"]
pub enum Completed<W = ThinWaker> {
    /// No waker is registered. The completer must not touch the word again.
    Unobserved,
    /// The waiter's waker. The completer must wake it by value, and must touch nothing else.
    Wake(W),
    /// The waiter has detached. The state that both shared now belongs to the completer alone.
    Detached,
}

/// The outcome of the waiter's last exchange: what the waiter must still do.
#[derive(Debug)]
#[must_use = "the waiter owns what a completer that has finished has left"]
pub enum Detached<W = ThinWaker> {
    /// The completer has not finished. The waiter must drop the registered waker, if there is one,
    /// and must touch nothing else.
    Pending(Option<W>),
    /// The completer has finished. The state that both shared now belongs to the waiter alone.
    Finished(Ended),
}

/// How a completer finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It completed.
    Done,
    /// It finished without completing.
    Abandoned,
}

/// A waiter's memory of the waker that it last registered.
///
/// With it, polling again with the same waker takes no atomic read-modify-write, and the published
/// pointer is never dereferenced.
#[derive(Clone, Copy, Debug)]
pub struct Registration(WakerId);

impl Registration {
    /// Creates a registration that remembers no waker.
    pub const fn new() -> Self {
        Self(WakerId::NONE)
    }

    /// Creates the memory of a waker that was registered by its word.
    pub(crate) fn with_waker(waker: &Waker) -> Self {
        Self(WakerId::of(waker))
    }

    /// A marker by which the owner of an ended word may remember the end.
    pub(crate) const ENDED: Self = Self(WakerId::NOBODY);

    #[inline]
    pub(crate) fn is_ended(&self) -> bool {
        self.0.is_nobody()
    }
}

impl Default for Registration {
    fn default() -> Self {
        Self::new()
    }
}

impl Completion {
    const_unless_modelled! {
        /// Creates a word that is not completed and has no waker registered.
        #[must_use]
        pub fn new() -> Self {
            Self { word: AtomicPtr::new(PENDING), space: () }
        }
    }

    /// Returns the word itself, for a type with transitions of its own.
    ///
    /// # Safety
    /// `this` is alive as long as the reference is used.
    #[inline]
    pub(crate) unsafe fn raw_word<'a>(this: *const Self) -> &'a AtomicPtr<()> {
        // SAFETY: passed on from the caller.
        unsafe { &(*this).word }
    }

    /// Returns the word of the waiter's waker, if one is registered. It is only to be compared: its
    /// owner may be gone by now.
    ///
    /// # Safety
    /// The word is alive.
    pub(crate) unsafe fn raw_registered(this: *const Self) -> Option<usize> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: registered. Relaxed: nothing behind the word is read.
        let word = word.load(order!(registered: Relaxed));
        let is_waker = ![PENDING, DONE, DETACHED, ABANDONED].contains(&word);
        is_waker.then(|| word.addr())
    }
}

impl Completion<Room> {
    const_unless_modelled! {
        /// Creates a word that is not completed and has no waker registered, with room for the
        /// first waker beside it. It is three pointers in size.
        ///
        /// Use it where wakers of other crates are expected, because the first one to be registered
        /// needs no memory then. Wakers of this crate's tasks and parked threads never do.
        /// `oneshot` uses it. A task does not: two more words in every task would cost more than a
        /// box for each of those that another crate's waker waits for.
        ///
        /// # Example
        /// ```
        /// use joint::{Completion, completion::Room};
        ///
        /// let mut completion: Completion<Room> = Completion::with_room();
        /// let (completer, waiter) = completion.split();
        /// completer.complete();
        /// assert_eq!(joint::block_on(waiter), Ok(()));
        /// ```
        #[must_use]
        pub fn with_room() -> Self {
            Self { word: AtomicPtr::new(PENDING), space: Room::new() }
        }
    }
}

impl<S: Space> Completion<S> {
    /// Resets the word and splits it into its two sides.
    ///
    /// If a [`Waiter`] of an earlier split was leaked while it was registered, its waker is leaked
    /// with it.
    #[must_use = "dropping both sides abandons and detaches the word"]
    pub fn split(&mut self) -> (Completer<'_, S>, Waiter<'_, S>) {
        *self = Self {
            word: AtomicPtr::new(PENDING),
            space: S::new(),
        };
        let completion: *const Self = self;
        (Completer::new(completion), Waiter::new(completion))
    }

    /// Completes. This is the completer's last act, unless it returns [`Completed::Detached`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the completer's only call of `raw_complete`
    /// or `raw_abandon`.
    #[inline]
    pub unsafe fn raw_complete(this: *const Self) -> Completed<S::Waker> {
        // ORDERING: complete. Release: a waiter that reads DONE (`poll`, `register` and `detach`,
        // all Acquire) sees what the completer wrote. Acquire: the returned waker was written
        // before `register` (Release), and a detached waiter's accesses come before `detach`
        // (Release). There is only one location, so no total order is needed.
        // SAFETY: passed on from the caller.
        unsafe { Self::finish(this, DONE, order!(complete: AcqRel)) }
    }

    /// Finishes without completing. This is the completer's last act, unless it returns
    /// [`Completed::Detached`].
    ///
    /// # Safety
    /// As for [`raw_complete`](Completion::raw_complete).
    #[inline]
    pub unsafe fn raw_abandon(this: *const Self) -> Completed<S::Waker> {
        // ORDERING: abandon. As for `complete`: the completer's accesses are over before the waiter
        // frees the shared state.
        // SAFETY: passed on from the caller.
        unsafe { Self::finish(this, ABANDONED, order!(abandon: AcqRel)) }
    }

    /// # Safety
    /// As for `raw_complete`.
    #[inline]
    unsafe fn finish(this: *const Self, how: *mut (), order: Ordering) -> Completed<S::Waker> {
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let word = unsafe { &(*this).word };
        // SAFETY: this only computes an address.
        let room = S::room(unsafe { &raw const (*this).space });
        let copy = match room {
            None => None,
            Some(room) => {
                // ORDERING: look. Acquire: a waker in the room was written before `register`
                // (Release), and a detached waiter's accesses come before `detach` (Release).
                let look = || word.load(order!(look: Acquire));
                let mut seen = look();
                if seen == PENDING {
                    // ORDERING: unobserved, missed. Release: a waiter that reads the end sees what
                    // the completer wrote (`poll`, `register` and `detach`, all Acquire). The
                    // waiter has published nothing. Relaxed if it now has, because `look` follows.
                    let exchange = word.compare_exchange(
                        seen,
                        how,
                        order!(unobserved: Release),
                        order!(missed: Relaxed),
                    );
                    if exchange.is_ok() {
                        return Completed::Unobserved;
                    }
                    seen = look();
                }
                Some(match seen {
                    DETACHED => return Completed::Detached,
                    // SAFETY: the room is alive up to the exchange, and published.
                    IN_ROOM => unsafe { Room::copy(room) },
                    _ => MaybeUninit::uninit(),
                })
            }
        };
        let before = word.swap(how, order);
        match before {
            PENDING => Completed::Unobserved,
            DETACHED => Completed::Detached,
            _ => {
                debug_assert!(
                    before != DONE && before != ABANDONED,
                    "the completer has finished twice"
                );
                // SAFETY: only the waiter writes any other value, and that value is a waker's word,
                // which the exchange hands over. A waker that was in the room when it was looked at
                // is either still there or gone from there forever.
                Completed::Wake(unsafe { Self::registered(before, copy) })
            }
        }
    }

    /// Returns how the completer finished, or `None` if it has not finished or the waiter has
    /// detached. For the waiter.
    ///
    /// # Safety
    /// `this` is alive.
    #[inline]
    pub unsafe fn raw_ended(this: *const Self) -> Option<Ended> {
        // SAFETY: passed on from the caller.
        how_ended(unsafe { Self::seen_by_waiter(this) })
    }

    /// # Safety
    /// As for `raw_ended`.
    #[inline]
    unsafe fn seen_by_waiter(this: *const Self) -> *mut () {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: poll. Acquire, with the Release of `complete`, `abandon` and `take`: what the
        // completer wrote is visible.
        word.load(order!(poll: Acquire))
    }

    /// Returns whether the waiter has detached. For the completer.
    ///
    /// # Safety
    /// `this` is alive, and the completer has not finished.
    #[inline]
    pub unsafe fn raw_is_detached(this: *const Self) -> bool {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: is_detached. Relaxed: the answer is only a hint, since a completer that acts on
        // it makes an exchange first.
        word.load(order!(is_detached: Relaxed)) == DETACHED
    }

    /// Returns `Ready` if the completer has finished, and otherwise registers `waker` to be woken
    /// when it does. For the waiter.
    ///
    /// `registration` is this waiter's memory of its registered waker. Pass a new one to the first
    /// call, and the same one to every later call. A new one is always correct, but costs one more
    /// registration. After `Ready` the word keeps its answer, and the state that both shared
    /// belongs to the waiter alone.
    ///
    /// # Cost
    /// One load if the completer has finished or `waker` is registered already. Otherwise one clone
    /// of `waker` and one read-modify-write as well.
    ///
    /// # Safety
    /// `this` is alive, and the waiter has not detached.
    #[inline]
    pub unsafe fn raw_poll(
        this: *const Self,
        waker: &Waker,
        registration: &mut Registration,
    ) -> Poll<Ended> {
        // SAFETY: passed on from the caller.
        let seen = unsafe { Self::seen_by_waiter(this) };
        if let Some(ended) = how_ended(seen) {
            return Poll::Ready(ended);
        }
        if registration.0.is_of(waker) {
            return Poll::Pending;
        }
        // SAFETY: passed on from the caller.
        unsafe { Self::register(this, seen, waker.clone(), registration) }
    }

    /// # Safety
    /// As for `raw_poll`. The waiter saw `seen` in the word, which was no end.
    #[inline(never)]
    unsafe fn register(
        this: *const Self,
        seen: *mut (),
        waker: Waker,
        registration: &mut Registration,
    ) -> Poll<Ended> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        let words = WakerId::of(&waker);
        // SAFETY: this only computes an address.
        let raw = match S::room(unsafe { &raw const (*this).space }) {
            Some(room) if seen == PENDING => {
                // SAFETY: alive by this function's contract, and the waiter has seen `PENDING`.
                unsafe { Room::put(room, waker) };
                IN_ROOM
            }
            _ => ThinWaker::from(waker).into_raw().as_ptr(),
        };
        // ORDERING: register. Release: the completer that takes the waker sees all of it
        // (`complete` and `look`, Acquire). Acquire: if the completer finished first, its result is
        // visible (`complete` and `take`, Release).
        let before = word.swap(raw, order!(register: AcqRel));
        if before == PENDING {
            registration.0 = words;
            return Poll::Pending;
        }
        // SAFETY: passed on from the caller. The exchange put `raw` in, and took `before` out.
        unsafe { Self::registered_after(this, before, raw, words, registration) }
    }

    /// Completes a registration that put `raw` in the place of an end or of an older waker.
    ///
    /// # Safety
    /// As for `raw_poll`. The waiter's exchange put `raw` in, and took `before` out, which was not
    /// `PENDING`.
    #[inline(never)]
    unsafe fn registered_after(
        this: *const Self,
        before: *mut (),
        raw: *mut (),
        words: WakerId,
        registration: &mut Registration,
    ) -> Poll<Ended> {
        // SAFETY: alive by this function's contract, and this is the waiter.
        let copy = unsafe { Self::copy_room(this) };
        if let Some(ended) = how_ended(before) {
            // SAFETY: alive by this function's contract.
            let word = unsafe { &(*this).word };
            // ORDERING: restore. Release: what the completer wrote is passed on to a thread that
            // learns of the end from this store. This waiter itself saw it through its exchange.
            // The end is restored before the waker is dropped, because dropping the waker runs user
            // code.
            word.store(before, order!(restore: Release));
            // SAFETY: this is the word that the exchange put in. The completer has finished without
            // seeing it, and the store has overwritten it, so it is ours again.
            drop(unsafe { Self::registered(raw, copy) });
            return Poll::Ready(ended);
        }
        debug_assert!(
            before != DETACHED,
            "the waiter has polled after it had detached"
        );
        registration.0 = words;
        // SAFETY: a value that is neither an end nor a sentinel is an older waker, which the
        // exchange hands back.
        drop(unsafe { Self::registered(before, copy) });
        Poll::Pending
    }

    /// Copies what is in the room, if there is one.
    ///
    /// # Safety
    /// `this` is alive, and the caller is the waiter.
    #[inline]
    unsafe fn copy_room(this: *const Self) -> Option<MaybeUninit<Waker>> {
        // SAFETY: this only computes an address.
        let room = S::room(unsafe { &raw const (*this).space })?;
        // SAFETY: passed on from the caller.
        Some(unsafe { Room::copy(room) })
    }

    /// # Safety
    /// `word` is that of a waker, which the caller owns. If it is `IN_ROOM`, `copy` is that waker.
    #[inline]
    unsafe fn registered(word: *mut (), copy: Option<MaybeUninit<Waker>>) -> S::Waker {
        match copy {
            // SAFETY: passed on from the caller.
            Some(waker) if word == IN_ROOM => unsafe { waker.assume_init() }.into(),
            // SAFETY: passed on from the caller.
            Some(_) => unsafe { replaced_waker_of(word) }.into(),
            // SAFETY: passed on from the caller.
            None => unsafe { thin_waker_of(word) }.into(),
        }
    }

    /// Detaches the waiter. This is the waiter's last act, unless it returns
    /// [`Detached::Finished`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the waiter's only call of `raw_detach`.
    #[inline]
    pub unsafe fn raw_detach(this: *const Self) -> Detached<S::Waker> {
        // SAFETY: alive up to the exchange, and this is the waiter.
        let copy = unsafe { Self::copy_room(this) };
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let word = unsafe { &(*this).word };
        // ORDERING: detach. Release: the waiter's accesses are over before a completer that reads
        // DETACHED frees the shared state (`complete` and `look`, Acquire). Acquire: if the
        // completer finished first, its result is visible (`complete` and `take`, Release).
        let before = word.swap(DETACHED, order!(detach: AcqRel));
        if let Some(ended) = how_ended(before) {
            return Detached::Finished(ended);
        }
        debug_assert!(before != DETACHED, "the waiter has detached twice");
        let registered = before != PENDING;
        // SAFETY: a value that is no sentinel is the waker that this waiter registered, which the
        // exchange hands back.
        Detached::Pending(registered.then(|| unsafe { Self::registered(before, copy) }))
    }
}

impl<S: Space> Retire for Completion<S> {
    #[inline]
    fn retire(&mut self) {
        self.word.retire();
        self.space.retire();
    }
}

impl Default for Completion {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for Completion<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // ORDERING: debug. Relaxed: only printed.
        let state = match self.word.load(order!(debug: Relaxed)) {
            PENDING => "Pending",
            DONE => "Done",
            DETACHED => "Detached",
            ABANDONED => "Abandoned",
            _ => "Waited",
        };
        write!(f, "Completion({state})")
    }
}

#[inline]
pub(crate) fn how_ended(word: *mut ()) -> Option<Ended> {
    match word {
        DONE => Some(Ended::Done),
        ABANDONED => Some(Ended::Abandoned),
        _ => None,
    }
}

/// # Safety
/// `word` is that of a waker, and the caller owns it.
#[inline]
pub(crate) unsafe fn thin_waker_of(word: *mut ()) -> ThinWaker {
    // SAFETY: a waker's word is not null.
    let raw = unsafe { NonNull::new_unchecked(word) };
    // SAFETY: the word came from `into_raw` in `register`, and the caller owns it.
    unsafe { ThinWaker::from_raw(raw) }
}

/// As [`thin_waker_of`], for a waker that has replaced the one in the room.
///
/// # Safety
/// As for `thin_waker_of`.
#[cold]
unsafe fn replaced_waker_of(word: *mut ()) -> Waker {
    // SAFETY: passed on from the caller.
    unsafe { thin_waker_of(word) }.into()
}
