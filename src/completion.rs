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
//! For waiters that follow one another on one word, see `succession.rs`.
//!
//! **The law.** After its exchange, a side touches only what the exchange returned, unless the
//! returned value gives it the shared state. The other side may free the word at once.

use core::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    ptr::{self, NonNull},
    task::{Context, Poll, Waker},
};
#[cfg(feature = "std")]
use std::time::{Duration, Instant};

#[cfg(feature = "std")]
use crate::{sync::clock, waker::park};
use crate::{
    sync::{AtomicPtr, Retire, const_unless_modelled, order},
    waker::{ThinWaker, WakerId},
};

mod succession;

const PENDING: *mut () = ptr::null_mut();
const DONE: *mut () = ptr::without_provenance_mut(1);
const DETACHED: *mut () = ptr::without_provenance_mut(2);
const ABANDONED: *mut () = ptr::without_provenance_mut(3);

/// An atomic word between one completer and one waiter. It is exactly one pointer in size.
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
/// Every operation is wait-free on machines with an atomic swap, and makes at most one load and one
/// atomic read-modify-write.
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
            Self { word: AtomicPtr::new(PENDING) }
        }
    }

    /// Resets the word and splits it into its two sides.
    ///
    /// If a [`Waiter`] of an earlier split was leaked while it was registered, its waker is leaked
    /// with it.
    #[must_use = "dropping both sides abandons and detaches the word"]
    pub fn split(&mut self) -> (Completer<'_>, Waiter<'_>) {
        *self = Self::new();
        let completion: *const Self = self;
        (
            Completer {
                completion,
                lifetime: PhantomData,
            },
            Waiter {
                completion,
                registration: Registration::new(),
                ended: None,
                lifetime: PhantomData,
            },
        )
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
    unsafe fn finish(
        this: *const Self,
        how: *mut (),
        order: core::sync::atomic::Ordering,
    ) -> Completed {
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
                Completed::Wake(unsafe { waker_of(before) })
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
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: poll. Acquire, with the Release of `complete` and `abandon`: what the completer
        // wrote is visible.
        ended(word.load(order!(poll: Acquire)))
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

    /// Returns the word of the waiter's waker, if one is registered. It is only to be compared: its
    /// owner may be gone by now.
    ///
    /// # Safety
    /// The word is alive.
    #[cfg(feature = "sim")]
    pub(crate) unsafe fn raw_registered(this: *const Self) -> Option<usize> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: registered. Relaxed: nothing behind the word is read.
        let word = word.load(order!(registered: Relaxed));
        let is_waker = ![PENDING, DONE, DETACHED, ABANDONED].contains(&word);
        is_waker.then(|| word.addr())
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
        if let Some(ended) = unsafe { Self::raw_ended(this) } {
            return Poll::Ready(ended);
        }
        if registration.0.is_of(waker) {
            return Poll::Pending;
        }
        // SAFETY: passed on from the caller.
        unsafe { Self::register(this, waker.clone(), registration) }
    }

    /// # Safety
    /// As for `raw_poll`.
    #[inline(never)]
    unsafe fn register(
        this: *const Self,
        waker: Waker,
        registration: &mut Registration,
    ) -> Poll<Ended> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        let words = WakerId::of(&waker);
        let raw = ThinWaker::from(waker).into_raw();
        // ORDERING: register. Release: the completer that takes the waker sees all of it
        // (`complete`, Acquire). Acquire: if the completer finished first, its result is visible
        // (`complete`, Release).
        let before = word.swap(raw.as_ptr(), order!(register: AcqRel));
        if let Some(ended) = ended(before) {
            // ORDERING: restore. Release: what the completer wrote is passed on to a waiter that
            // would succeed this one (`succeed_ended`, Acquire). This waiter itself saw it through
            // its exchange. The end is restored before the waker is dropped, because dropping the
            // waker runs user code.
            word.store(before, order!(restore: Release));
            // SAFETY: this is the word that the exchange put in. The completer has finished without
            // seeing it, and the store has overwritten it, so it is ours again.
            drop(unsafe { ThinWaker::from_raw(raw) });
            return Poll::Ready(ended);
        }
        debug_assert!(
            before != DETACHED,
            "the waiter has polled after it had detached"
        );
        registration.0 = words;
        if before != PENDING {
            // SAFETY: a value that is neither an end nor a sentinel is an older waker, which the
            // exchange hands back.
            drop(unsafe { waker_of(before) });
        }
        Poll::Pending
    }

    /// Detaches the waiter. This is the waiter's last act, unless it returns
    /// [`Detached::Finished`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the waiter's only call of `raw_detach`.
    #[inline]
    pub unsafe fn raw_detach(this: *const Self) -> Detached {
        // SAFETY: alive up to the exchange. The reference is only to the atomic, which may be freed
        // during the call.
        let word = unsafe { &(*this).word };
        // ORDERING: detach. Release: the waiter's accesses are over before a completer that reads
        // DETACHED frees the shared state (`complete`, Acquire). Acquire: if the completer finished
        // first, its result is visible (`complete`, Release).
        let before = word.swap(DETACHED, order!(detach: AcqRel));
        if let Some(ended) = ended(before) {
            return Detached::Finished(ended);
        }
        debug_assert!(before != DETACHED, "the waiter has detached twice");
        let registered = before != PENDING;
        // SAFETY: a value that is no sentinel is the waker that this waiter registered, which the
        // exchange hands back.
        Detached::Pending(registered.then(|| unsafe { waker_of(before) }))
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
fn ended(word: *mut ()) -> Option<Ended> {
    match word {
        DONE => Some(Ended::Done),
        ABANDONED => Some(Ended::Abandoned),
        _ => None,
    }
}

/// # Safety
/// `word` is that of a waker, and the caller owns it.
#[inline]
unsafe fn waker_of(word: *mut ()) -> ThinWaker {
    // SAFETY: a waker's word is not null.
    let raw = unsafe { NonNull::new_unchecked(word) };
    // SAFETY: the word came from `into_raw` in `register`, and the caller owns it.
    unsafe { ThinWaker::from_raw(raw) }
}

/// The side that completes. If it is dropped without completing, it abandons the word, and the
/// [`Waiter`] ends with an error instead of hanging.
///
/// # Example
/// ```
/// use joint::{Abandoned, Completion};
///
/// let mut completion = Completion::new();
/// let (completer, waiter) = completion.split();
/// drop(completer);
/// assert_eq!(waiter.blocking_wait(), Err(Abandoned));
/// ```
#[must_use = "dropping a completer without `complete` tells the waiter that it will never complete"]
pub struct Completer<'a> {
    completion: *const Completion,
    lifetime: PhantomData<&'a Completion>,
}

// SAFETY: a completer makes one exchange on the word, which any thread may make.
unsafe impl Send for Completer<'_> {}
// SAFETY: by reference it only makes an atomic load.
unsafe impl Sync for Completer<'_> {}

impl Completer<'_> {
    /// Completes, and wakes the waiter if it is waiting.
    ///
    /// # Cost
    /// One atomic read-modify-write, besides the wake-up.
    pub fn complete(self) {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: the borrow keeps the word alive, and a completer finishes once, because `self` is
        // consumed and not dropped.
        wake(unsafe { Completion::raw_complete(this.completion) });
    }

    /// Returns whether the [`Waiter`] was dropped before the end, so that no one is left to wake.
    pub fn is_detached(&self) -> bool {
        // SAFETY: the borrow keeps the word alive, and finishing consumes the completer.
        unsafe { Completion::raw_is_detached(self.completion) }
    }
}

impl Drop for Completer<'_> {
    fn drop(&mut self) {
        // SAFETY: the borrow keeps the word alive, and `complete` does not drop.
        wake(unsafe { Completion::raw_abandon(self.completion) });
    }
}

impl fmt::Debug for Completer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer")
            .field("is_detached", &self.is_detached())
            .finish()
    }
}

fn wake(completed: Completed) {
    if let Completed::Wake(waker) = completed {
        waker.wake();
    }
}

/// The completer was dropped without completing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned;

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the completer was dropped without completing")
    }
}

impl core::error::Error for Abandoned {}

/// The side that waits, as a future or by a blocking wait with or without a deadline. Dropping it
/// detaches it.
///
/// After the first answer, every further poll or wait gives the same answer.
///
/// # Example
/// ```
/// use joint::Completion;
/// use std::time::Duration;
///
/// let mut completion = Completion::new();
/// let (completer, mut waiter) = completion.split();
/// assert!(!waiter.blocking_wait_timeout(Duration::from_millis(1)));
/// completer.complete();
/// assert!(waiter.blocking_wait_timeout(Duration::MAX));
/// assert_eq!(waiter.blocking_wait(), Ok(()));
/// ```
#[must_use = "dropping a waiter detaches it: await it, or call one of its blocking functions"]
pub struct Waiter<'a> {
    completion: *const Completion,
    registration: Registration,
    /// How the completer finished. Once this is set, the word is not touched again.
    ended: Option<Ended>,
    lifetime: PhantomData<&'a Completion>,
}

// SAFETY: a waiter makes atomic operations on the word, which any thread may make.
unsafe impl Send for Waiter<'_> {}
// SAFETY: by reference it only makes an atomic load.
unsafe impl Sync for Waiter<'_> {}

impl Waiter<'_> {
    /// Returns whether the completer has finished, so that a wait would return at once.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the borrow keeps the word alive.
        self.ended.is_some() || unsafe { Completion::raw_ended(self.completion) }.is_some()
    }

    /// Blocks the thread until the completer has finished.
    ///
    /// # Errors
    /// [`Abandoned`] if the completer was dropped without completing.
    #[cfg(feature = "std")]
    pub fn blocking_wait(self) -> Result<(), Abandoned> {
        park::block_on(self)
    }

    /// Blocks the thread until the completer has finished, for `limit` at most. Returns whether the
    /// completer has finished.
    ///
    /// A limit beyond the range of the clock is no limit. A limit of zero only checks, and
    /// registers nothing.
    ///
    /// To learn how the completer finished, call [`blocking_wait`](Waiter::blocking_wait) or await
    /// the waiter. Both return at once then.
    #[cfg(feature = "std")]
    pub fn blocking_wait_timeout(&mut self, limit: Duration) -> bool {
        if limit.is_zero() {
            return self.is_finished();
        }
        park::block_on_timeout(Pin::new(self), limit).is_some()
    }

    /// Blocks the thread until the completer has finished, or until `deadline`. Returns whether the
    /// completer has finished. If the deadline has passed, it only checks.
    #[cfg(feature = "std")]
    pub fn blocking_wait_deadline(&mut self, deadline: Instant) -> bool {
        if deadline <= clock::now() {
            return self.is_finished();
        }
        park::block_on_deadline(Pin::new(self), deadline).is_some()
    }
}

impl Future for Waiter<'_> {
    type Output = Result<(), Abandoned>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.ended.is_none() {
            // SAFETY: the borrow keeps the word alive, and the waiter detaches only when the waiter
            // is dropped.
            let poll = unsafe {
                Completion::raw_poll(this.completion, cx.waker(), &mut this.registration)
            };
            let Poll::Ready(ended) = poll else {
                return Poll::Pending;
            };
            this.ended = Some(ended);
        }
        Poll::Ready(match this.ended {
            Some(Ended::Done) => Ok(()),
            _ => Err(Abandoned),
        })
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // SAFETY: the borrow keeps the word alive, and this is the waiter's last act. Only the
            // word is shared.
            drop(unsafe { Completion::raw_detach(self.completion) });
        }
    }
}

impl fmt::Debug for Waiter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
