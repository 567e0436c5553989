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

use core::{
    fmt,
    ptr::{self, NonNull},
    sync::atomic::Ordering,
    task::{Poll, Waker},
};

use crate::waker::ThinWaker;
use joint_switch::{AtomicPtr, Retire, const_unless_modelled, order};

/// Makes a type an error that says one text for each of its cases.
macro_rules! says {
    ($error:ident $(<$t:ident>)?: $($case:pat => $text:expr),+) => {
        impl $(<$t>)? core::fmt::Display for $error $(<$t>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    $($case => $text),+
                })
            }
        }

        impl $(<$t>)? core::error::Error for $error $(<$t>)? {}
    };
}
pub(crate) use says;

#[cfg(feature = "std")]
mod blocking;
mod sides;
mod slotted;
mod succession;

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
    ///
    /// # Safety
    /// The word is alive.
    #[inline]
    pub(crate) unsafe fn raw_registered(this: *const Self) -> Option<usize> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: registered. Relaxed: nothing behind the word is read.
        let word = word.load(order!(registered: Relaxed));
        (word.addr() > ABANDONED.addr()).then(|| word.addr())
    }

    /// Completes. This is the completer's last act, unless it returns [`Completed::Detached`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the completer's only call of `raw_complete`
    /// or `raw_abandon`.
    #[inline]
    pub unsafe fn raw_complete(this: *const Self) -> Completed {
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
    pub unsafe fn raw_abandon(this: *const Self) -> Completed {
        // ORDERING: abandon. As for `complete`: the completer's accesses are over before the waiter
        // frees the shared state.
        // SAFETY: passed on from the caller.
        unsafe { Self::finish(this, ABANDONED, order!(abandon: AcqRel)) }
    }

    /// # Safety
    /// As for `raw_complete`.
    #[inline]
    unsafe fn finish(this: *const Self, how: *mut (), order: Ordering) -> Completed {
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let word = unsafe { &(*this).word };
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
                // which the exchange hands over.
                Completed::Wake(unsafe { thin_waker_of(before) })
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
        how_ended(unsafe { Self::look(this) })
    }

    /// Looks at the word, for the waiter.
    ///
    /// # Safety
    /// `this` is alive.
    #[inline]
    unsafe fn look(this: *const Self) -> *mut () {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: poll. Acquire, with the Release of `complete`, `abandon`, `unobserved` and
        // `finish`: what the completer wrote is visible.
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
        unsafe { Self::poll_as(this, waker, registration, Into::into) }
    }

    /// As `raw_poll`, with the function that turns the waker into one word.
    ///
    /// # Safety
    /// As for `raw_poll`. The waker that `thin` returns wakes the same task as the one that it was
    /// given.
    #[inline]
    pub(crate) unsafe fn poll_as(
        this: *const Self,
        waker: &Waker,
        registration: &mut Registration,
        thin: impl FnOnce(Waker) -> ThinWaker,
    ) -> Poll<Ended> {
        // SAFETY: passed on from the caller.
        if let Some(ended) = unsafe { Self::raw_ended(this) } {
            return Poll::Ready(ended);
        }
        if registration.is_of(waker) {
            return Poll::Pending;
        }
        // SAFETY: passed on from the caller.
        unsafe { Self::register(this, waker.clone(), registration, thin) }
    }

    /// # Safety
    /// As for `poll_as`.
    #[inline(never)]
    unsafe fn register(
        this: *const Self,
        waker: Waker,
        registration: &mut Registration,
        thin: impl FnOnce(Waker) -> ThinWaker,
    ) -> Poll<Ended> {
        let id = Registration::of(&waker);
        // SAFETY: passed on from the caller.
        unsafe { Self::exchange(this, thin(waker), id, registration) }
    }

    /// Registers a waker, by which the task of the waker with this id is woken.
    ///
    /// # Safety
    /// As for `poll_as`.
    #[inline(always)]
    unsafe fn exchange(
        this: *const Self,
        waker: ThinWaker,
        id: Registration,
        registration: &mut Registration,
    ) -> Poll<Ended> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        let raw = waker.into_raw().as_ptr();
        // ORDERING: register. Release: the completer that takes or copies the waker sees all of it
        // (`complete`, `abandon`, `look`, `missed` and `finish`, Acquire). Acquire: if the
        // completer finished first, its result is visible (`complete`, `abandon`, `unobserved` and
        // `finish`, Release).
        let before = word.swap(raw, order!(register: AcqRel));
        let (old, poll) = match how_ended(before) {
            Some(ended) => {
                // The completer has finished without seeing the waker. The end is restored before
                // that is dropped, because dropping it runs user code.
                // SAFETY: passed on from the caller.
                unsafe { Self::restore(this, before) };
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
            drop(unsafe { thin_waker_of(old) });
        }
        poll
    }

    /// Restores the end that the waiter's exchange has taken out.
    ///
    /// # Safety
    /// `this` is alive, and the completer has finished.
    #[inline]
    unsafe fn restore(this: *const Self, end: *mut ()) {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: restore. Release: what the completer wrote is passed on to a thread that learns
        // of the end from this store. The waiter itself saw it through its exchange.
        word.store(end, order!(restore: Release));
    }

    /// Says that the completer had finished without completing, after the waiter has taken what it
    /// left.
    ///
    /// # Safety
    /// `this` is alive, the completer has finished, and only the caller may be using the word.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) unsafe fn empty(this: *const Self) {
        // SAFETY: passed on from the caller.
        unsafe { Self::restore(this, ABANDONED) };
    }

    /// Detaches the waiter. This is the waiter's last act, unless it returns
    /// [`Detached::Finished`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the waiter's only call of `raw_detach`.
    #[inline]
    pub unsafe fn raw_detach(this: *const Self) -> Detached {
        // SAFETY: passed on from the caller.
        let before = unsafe { Self::detach(this) };
        if let Some(ended) = how_ended(before) {
            return Detached::Finished(ended);
        }
        let registered = before != PENDING;
        // SAFETY: a value that is no sentinel is the waker that this waiter registered, which the
        // exchange hands back.
        Detached::Pending(registered.then(|| unsafe { thin_waker_of(before) }))
    }

    /// # Safety
    /// As for `raw_detach`.
    #[inline]
    unsafe fn detach(this: *const Self) -> *mut () {
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let word = unsafe { &(*this).word };
        // ORDERING: detach. Release: the waiter's accesses are over before a completer that reads
        // DETACHED frees the shared state (`complete`, `abandon`, `look`, `missed` and `finish`,
        // Acquire). Acquire: if the completer finished first, its result is visible (`complete`,
        // `abandon`, `unobserved` and `finish`, Release).
        let before = word.swap(DETACHED, order!(detach: AcqRel));
        debug_assert!(before != DETACHED, "the waiter has detached twice");
        before
    }
}

impl Retire for Completion {
    #[inline]
    fn retire(&mut self) {
        self.word.retire();
    }
}

impl Default for Completion {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Completion {
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
fn how_ended(word: *mut ()) -> Option<Ended> {
    match word {
        DONE => Some(Ended::Done),
        ABANDONED => Some(Ended::Abandoned),
        _ => None,
    }
}

/// # Safety
/// `word` is that of a waker, and the caller owns it.
#[inline]
unsafe fn thin_waker_of(word: *mut ()) -> ThinWaker {
    // SAFETY: a waker's word is not null.
    let raw = unsafe { NonNull::new_unchecked(word) };
    // SAFETY: the word came from `into_raw`, and the caller owns it.
    unsafe { ThinWaker::from_raw(raw) }
}
