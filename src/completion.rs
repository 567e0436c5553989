//! [`Completion`]: one atomic word between a completer and a waiter.
//!
//! | word | means | written by |
//! |---|---|---|
//! | `PENDING` (null) | not completed, no waker registered | creation |
//! | `W` (a [`ThinWaker`]) | not completed, a waker is registered; the word owns that waker and nothing else | waiter |
//! | `DONE` (1) | completed | completer, once |
//! | `DETACHED` (2) | the waiter has detached and never reads the word again | waiter, last act |
//! | `ABANDONED` (3) | the completer has finished without completing | completer, once |
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
//! **The law.** After its exchange, a side touches only what the exchange returned, unless the
//! returned value gives it the shared state. The other side may free the word at once.
//!
//! The table is proven without bounds, and `tests.rs` holds the code against what is proven. See
//! `docs/proof.md` in the repository.

use core::{
    fmt, ptr,
    task::{Poll, Waker},
};

use crate::waker::ThinWaker;
use joint_switch::{AtomicPtr, const_unless_modelled, order};

#[cfg(feature = "std")]
mod blocking;
mod sides;
mod slotted;
mod succession;
#[cfg(all(test, feature = "alloc"))]
mod tests;

#[doc(no_inline)]
pub use crate::waker::{Registration, WakerSlot};
pub use sides::{Abandoned, Completer, Waiter};
pub use slotted::Slotted;
#[cfg(feature = "alloc")]
pub(crate) use slotted::noted;

const PENDING: *mut () = ptr::null_mut();
const DONE: *mut () = ptr::without_provenance_mut(1);
const DETACHED: *mut () = ptr::without_provenance_mut(2);
const ABANDONED: *mut () = ptr::without_provenance_mut(3);

/// An atomic word between one completer and one waiter. It is exactly one pointer in size.
///
/// Use it in one of two ways, never in both: [`split`](Completion::split) it into a [`Completer`]
/// and a [`Waiter`] that borrow it, or embed it in a type of your own and drive it with the `raw_*`
/// functions. The documentation of each function says which side may call it.
///
/// # Happens-before
/// Everything that the completer did before it completed (or abandoned) happens before the waiter
/// sees the end. Everything that the waiter did before it registered its waker or detached happens
/// before the completer sees the waker or the detachment.
///
/// # Progress and cost
/// Every operation makes at most one load and one atomic read-modify-write, a swap. Nothing is
/// retried, so every operation is wait-free on machines that have a swap as an instruction. Where
/// the compiler makes a loop of it, it is lock-free.
///
/// A waker of another crate is boxed while it is registered, unless there is a [`WakerSlot`] for
/// it.
///
/// # More than once
/// The word is for one event. For a waker that is registered and woken again and again, such as
/// that of a queue, take the crate `atomic-waker`, which works with all wakers of this crate.
/// `docs/coming-from-atomic-waker.md` in the repository says what to take when.
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
#[doc(alias = "AtomicWaker")]
#[repr(transparent)]
pub struct Completion {
    word: AtomicPtr<()>,
}

/// The outcome of the completer's exchange: what the completer must still do.
#[derive(Debug)]
#[must_use = "a returned waker must be woken, and the completer owns what a detached waiter has left"]
pub enum Completed {
    /// No waker is registered. The completer must not touch the word again.
    Unobserved,
    /// The waiter's waker. The completer must wake it by value, and must touch nothing else.
    Wake(ThinWaker),
    /// The waiter has detached. The state that both shared now belongs to the completer alone.
    Detached,
}

/// The outcome of the waiter's last exchange: what the waiter must still do.
#[derive(Debug)]
#[must_use = "the waiter owns what a completer that has finished has left"]
pub enum Detached {
    /// The completer has not finished. The waiter must drop the registered waker, if there is one,
    /// and must touch nothing else.
    Pending(Option<ThinWaker>),
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

impl Completed {
    /// Wakes the waiter, if it was waiting.
    #[inline]
    pub(crate) fn wake(self) {
        if let Self::Wake(waiter) = self {
            waiter.wake();
        }
    }
}

impl Completion {
    const_unless_modelled! {
        /// Creates a word that is not completed and has no waker registered. For a `static` in a
        /// model, see [the crate's documentation](crate#in-your-own-models).
        #[must_use]
        pub fn new() -> Self {
            Self { word: AtomicPtr::new(PENDING) }
        }
    }

    /// Returns the word of the waiter's waker, if one is registered. It is only to be compared: its
    /// owner may be gone by now.
    #[inline]
    pub(crate) fn registered(&self) -> Option<usize> {
        let word = self.glance().addr();
        (word > ABANDONED.addr()).then_some(word)
    }

    /// Looks at the word alone, for an answer that may be outdated at once.
    #[inline]
    fn glance(&self) -> *mut () {
        // ORDERING: glance. Relaxed: nothing behind the word is read, and whoever acts on the
        // answer makes an exchange first.
        self.word.load(order!(glance: Relaxed))
    }

    /// Completes. This is the completer's last act, unless it returns [`Completed::Detached`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the completer's only call of `raw_complete`
    /// or `raw_abandon`.
    #[inline]
    pub unsafe fn raw_complete(this: *const Self) -> Completed {
        // SAFETY: passed on from the caller.
        unsafe { Self::finish(this, Ended::Done) }
    }

    /// Finishes without completing. This is the completer's last act, unless it returns
    /// [`Completed::Detached`].
    ///
    /// # Safety
    /// As for [`raw_complete`](Completion::raw_complete).
    #[inline]
    pub unsafe fn raw_abandon(this: *const Self) -> Completed {
        // SAFETY: passed on from the caller.
        unsafe { Self::finish(this, Ended::Abandoned) }
    }

    /// # Safety
    /// As for `raw_complete`.
    #[inline]
    pub(crate) unsafe fn finish(this: *const Self, how: Ended) -> Completed {
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let word = unsafe { &(*this).word };
        // ORDERING: complete. Release: a waiter that reads the end (`poll`, `register` and
        // `detach`, all Acquire) sees what the completer wrote, and frees the shared state after
        // its accesses. Acquire: the returned waker was written before `register` (Release), and a
        // detached waiter's accesses come before `detach` (Release). There is only one location, so
        // no total order is needed.
        match word.swap(how.word(), order!(complete: AcqRel)) {
            PENDING => Completed::Unobserved,
            DETACHED => Completed::Detached,
            before => {
                debug_assert!(
                    Ended::of(before).is_none(),
                    "the completer has finished twice"
                );
                // SAFETY: only the waiter writes any other value, and that value is a waker's word,
                // which the exchange hands over.
                Completed::Wake(unsafe { ThinWaker::from_word(before) })
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
        unsafe { &*this }.ended()
    }

    #[inline]
    pub(crate) fn ended(&self) -> Option<Ended> {
        Ended::of(self.look())
    }

    /// Looks at the word, for the waiter.
    #[inline]
    fn look(&self) -> *mut () {
        // ORDERING: poll. Acquire, with the Release of `complete`, `unobserved` and `finish`: what
        // the completer wrote is visible.
        self.word.load(order!(poll: Acquire))
    }

    /// Returns whether the waiter has detached. For the completer.
    ///
    /// # Safety
    /// `this` is alive, and the completer has not finished.
    #[inline]
    pub unsafe fn raw_is_detached(this: *const Self) -> bool {
        // SAFETY: passed on from the caller.
        unsafe { &*this }.is_detached()
    }

    #[inline]
    pub(crate) fn is_detached(&self) -> bool {
        self.glance() == DETACHED
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
        let this = unsafe { &*this };
        // SAFETY: passed on from the caller.
        unsafe { this.poll_as(waker, registration, Into::into) }
    }

    /// As `raw_poll`, with the function that turns the waker into one word.
    ///
    /// # Safety
    /// As for `raw_poll`. The waker that `thin` returns wakes the same task as the one that it was
    /// given.
    #[inline]
    pub(crate) unsafe fn poll_as(
        &self,
        waker: &Waker,
        registration: &mut Registration,
        thin: impl FnOnce(Waker) -> ThinWaker,
    ) -> Poll<Ended> {
        if let Some(ended) = self.ended() {
            return Poll::Ready(ended);
        }
        if registration.is_of(waker) {
            return Poll::Pending;
        }
        // SAFETY: passed on from the caller.
        unsafe { self.register(waker.clone(), registration, thin) }
    }

    /// Registers a waker for `poll_as`.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    unsafe fn register(
        &self,
        waker: Waker,
        registration: &mut Registration,
        thin: impl FnOnce(Waker) -> ThinWaker,
    ) -> Poll<Ended> {
        let id = Registration::of(&waker);
        // SAFETY: passed on from the caller.
        unsafe { self.exchange(thin(waker), id, registration) }
    }

    /// Registers a waker, by which the task of the waker with this id is woken.
    ///
    /// # Safety
    /// As for `poll_as`.
    #[inline(always)]
    unsafe fn exchange(
        &self,
        waker: ThinWaker,
        id: Registration,
        registration: &mut Registration,
    ) -> Poll<Ended> {
        let raw = waker.into_raw().as_ptr();
        // ORDERING: register. Release: the completer that takes or copies the waker sees all of it
        // (`complete`, `look`, `missed` and `finish`, Acquire). Acquire: if the completer finished
        // first, its result is visible (`complete`, `unobserved` and `finish`, Release).
        let before = self.word.swap(raw, order!(register: AcqRel));
        let (old, poll) = match Ended::of(before) {
            Some(ended) => {
                // The completer has finished without seeing the waker. The end is restored before
                // that is dropped, because dropping it runs user code.
                self.restore(ended);
                (raw, Poll::Ready(ended))
            }
            None => {
                *registration = id;
                (before, Poll::Pending)
            }
        };
        debug_assert!(
            before != DETACHED,
            "the waiter has polled after it had detached"
        );
        if old != PENDING {
            // SAFETY: the older waker, which the exchange hands back, or the one that it put in and
            // the store has overwritten.
            drop(unsafe { ThinWaker::from_word(old) });
        }
        poll
    }

    /// Puts an end into the word, which the completer has finished, so that it is the waiter's.
    #[inline]
    pub(crate) fn restore(&self, end: Ended) {
        // ORDERING: restore. Release: what the completer wrote is passed on to a thread that learns
        // of the end from this store. The waiter itself saw it through its exchange.
        self.word.store(end.word(), order!(restore: Release));
    }

    /// Detaches the waiter. This is its last act, unless it returns [`Detached::Finished`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and the waiter makes no further call.
    #[inline]
    pub unsafe fn raw_detach(this: *const Self) -> Detached {
        // SAFETY: passed on from the caller.
        let before = unsafe { &*this }.detach();
        if let Some(ended) = Ended::of(before) {
            return Detached::Finished(ended);
        }
        let registered = before != PENDING;
        // SAFETY: a value that is no sentinel is the waker that this waiter registered, which the
        // exchange hands back.
        Detached::Pending(registered.then(|| unsafe { ThinWaker::from_word(before) }))
    }

    /// Makes the exchange of `raw_detach`, during which the word may be freed, and returns the
    /// value before.
    #[inline]
    fn detach(&self) -> *mut () {
        // ORDERING: detach. Release: the waiter's accesses are over before a completer that reads
        // DETACHED frees the shared state (`complete`, `look`, `missed` and `finish`, Acquire).
        // Acquire: if the completer finished first, its result is visible (`complete`, `unobserved`
        // and `finish`, Release).
        let before = self.word.swap(DETACHED, order!(detach: AcqRel));
        debug_assert!(before != DETACHED, "the waiter has detached twice");
        before
    }
}

impl Ended {
    /// Returns the end that a value of the word is.
    #[inline]
    fn of(word: *mut ()) -> Option<Self> {
        match word {
            DONE => Some(Self::Done),
            ABANDONED => Some(Self::Abandoned),
            _ => None,
        }
    }

    #[inline]
    fn word(self) -> *mut () {
        match self {
            Self::Done => DONE,
            Self::Abandoned => ABANDONED,
        }
    }
}

retires!(Completion: word);

default_is_new!(Completion);

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.glance() {
            PENDING => "Pending",
            DONE => "Done",
            DETACHED => "Detached",
            ABANDONED => "Abandoned",
            _ => "Waited",
        };
        write!(f, "Completion({state})")
    }
}
