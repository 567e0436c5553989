//! [`Completion`]: one atomic word between the one who completes and the one who waits.
//!
//! | word | means | written by |
//! |---|---|---|
//! | `PENDING` (null) | not completed, nobody waits | creation |
//! | `W` (a [`ThinWaker`]) | not completed, somebody waits; the word owns the wake-up and nothing else | waiter |
//! | `DONE` (1) | completed | completer, once |
//! | `DETACHED` (2) | the waiter has gone and never looks again | waiter, last act |
//! | `ABANDONED` (3) | the completer has gone without completing | completer, once |
//!
//! | operation | instruction | what comes back, and what is left to do |
//! |---|---|---|
//! | complete, abandon | `swap(AcqRel)` | `PENDING`: nothing. `W`: wake it. `DETACHED`: the completer owns what is left |
//! | poll, fast | `load(Acquire)` | `DONE`: ready. The waker that is registered already: pending |
//! | poll, register | `swap(W, AcqRel)` | `PENDING`: pending. An older `W`: drop it, pending. `DONE`: ready, and put `DONE` back |
//! | detach | `swap(DETACHED, AcqRel)` | `PENDING`: nothing. `W`: drop it. `DONE`: the waiter owns what is left |
//!
//! No operation has a state in which the other side has to wait: each is at most one load and one exchange, plus one plain
//! store where a registration met the end and puts it back.
//!
//! Where waiters follow one another on one word, see `succession.rs`.
//!
//! **The law.** After its exchange, a side touches only what the exchange returned, unless that says that the rest is its own.
//! The other side may free the word at once.

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
use crate::waker::park;
use crate::{
    sync::{AtomicPtr, Retire, const_unless_modelled, order},
    waker::{ThinWaker, WakerWords},
};

mod succession;

const PENDING: *mut () = ptr::null_mut();
const DONE: *mut () = ptr::without_provenance_mut(1);
const DETACHED: *mut () = ptr::without_provenance_mut(2);
const ABANDONED: *mut () = ptr::without_provenance_mut(3);

/// The word between one completer and one waiter. Exactly one pointer in size.
///
/// Use it in one of two ways: [`split`](Completion::split) it into a [`Completer`] and a [`Waiter`] that borrow it, or embed
/// it in a type of your own and drive it by the `raw_*` functions, each called by the one side that it names.
///
/// # Happens-before
/// All that the completer did before it completed (or abandoned) happens before the waiter learns of it. All that the waiter
/// did before it registered its waker or detached happens before the completer learns of that.
///
/// # Progress and cost
/// Every operation is wait-free where the machine has an atomic swap, and makes at most one load and one atomic
/// read-modify-write.
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

/// What the completer's exchange says is left to do.
#[derive(Debug)]
#[must_use = "a returned waker must be woken, and what a detached waiter left behind belongs to the completer"]
pub enum Completed {
    /// Nobody waits yet. Touch nothing any more.
    Unobserved,
    /// Wake this, by value. Touch nothing else any more.
    Wake(ThinWaker),
    /// The waiter has gone: what the two shared is the completer's alone.
    Detached,
}

/// What the waiter's last exchange says is left to do.
#[derive(Debug)]
#[must_use = "what a finished completer left behind belongs to the waiter"]
pub enum Detached {
    /// Not completed yet. Drop the registered waker, if any; touch nothing else any more.
    Pending(Option<ThinWaker>),
    /// The completer has finished: what the two shared is the waiter's alone.
    Finished(Ended),
}

/// How a completer finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It completed.
    Done,
    /// It went without completing.
    Abandoned,
}

/// What the waiter remembers of the waker that it put into the word.
///
/// It makes polling again with the same waker free of atomic read-modify-writes, without ever reading through the published
/// pointer.
#[derive(Clone, Copy, Debug)]
pub struct Registration(WakerWords);

impl Registration {
    /// Nothing is registered.
    pub const fn new() -> Self {
        Self(WakerWords::NONE)
    }

    /// What the owner of an ended word may put here, to remember that.
    pub(crate) const ENDED: Self = Self(WakerWords::NOBODY);

    #[inline]
    pub(crate) fn is_ended(&self) -> bool {
        self.0.are_nobody()
    }
}

impl Default for Registration {
    fn default() -> Self {
        Self::new()
    }
}

impl Completion {
    const_unless_modelled! {
        /// A word that is not completed and that nobody waits for.
        #[must_use]
        pub fn new() -> Self {
            Self { word: AtomicPtr::new(PENDING) }
        }
    }

    /// The two sides. Splitting again starts afresh.
    ///
    /// If a [`Waiter`] of an earlier split was leaked while it was registered, its waker is leaked with it.
    #[must_use = "sides that are dropped have done their part: the word is abandoned and detached"]
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

    /// Completes. The completer's last act, unless the answer is [`Completed::Detached`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the completer's one call of `raw_complete` or `raw_abandon`.
    #[inline]
    pub unsafe fn raw_complete(this: *const Self) -> Completed {
        // ORDERING: complete. Release: what the completer wrote is seen by whoever learns of DONE (`poll`, `register` and
        // `detach`, all Acquire). Acquire: a waker that comes back was written by its waiter before `register` (Release), and
        // what a detached waiter did comes before `detach` (Release). One location, so nothing has to be totally ordered.
        // SAFETY: passed on from the caller.
        unsafe { Self::finish(this, DONE, order!(complete: AcqRel)) }
    }

    /// Goes without completing. The completer's last act, unless the answer is [`Completed::Detached`].
    ///
    /// # Safety
    /// As for [`raw_complete`](Completion::raw_complete).
    #[inline]
    pub unsafe fn raw_abandon(this: *const Self) -> Completed {
        // ORDERING: abandon. As for `complete`: what the completer did is over before the waiter frees what they shared.
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
        // SAFETY: alive up to the exchange. The reference is to the atomic alone, which may vanish during the call.
        let word = unsafe { &(*this).word };
        let before = word.swap(how, order);
        match before {
            PENDING => Completed::Unobserved,
            DETACHED => Completed::Detached,
            _ => {
                debug_assert!(
                    before != DONE && before != ABANDONED,
                    "a completer finished twice"
                );
                // SAFETY: only the waiter writes anything else, and that is a waker's word, which the exchange hands over.
                Completed::Wake(unsafe { waker_of(before) })
            }
        }
    }

    /// How the completer finished, or `None` when it has not, or when the waiter has detached. The waiter's side.
    ///
    /// # Safety
    /// `this` is alive.
    #[inline]
    pub unsafe fn raw_ended(this: *const Self) -> Option<Ended> {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: poll. Acquire, with the Release of `complete` and `abandon`: what the completer wrote is visible.
        ended(word.load(order!(poll: Acquire)))
    }

    /// Whether the waiter has gone. The completer's side.
    ///
    /// # Safety
    /// `this` is alive, and the completer has not finished.
    #[inline]
    pub unsafe fn raw_is_detached(this: *const Self) -> bool {
        // SAFETY: alive by this function's contract.
        let word = unsafe { &(*this).word };
        // ORDERING: is_detached. Relaxed: an answer for show; whoever acts on it makes an exchange first.
        word.load(order!(is_detached: Relaxed)) == DETACHED
    }

    /// Polls: ready when the completer has finished, or registers `waker` to be woken when it does. The waiter's side.
    ///
    /// `registration` is this waiter's memory of what it registered: the same place for every call, new for the first. A new
    /// one is right at any time; it costs one more registration.
    /// After `Ready` the word keeps its answer, and what the two shared is the waiter's alone.
    ///
    /// # Cost
    /// One load when finished or when `waker` is registered already; else one clone of `waker` and one read-modify-write.
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
        if registration.0.are_of(waker) {
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
        let words = WakerWords::of(&waker);
        let raw = ThinWaker::from(waker).into_raw();
        // ORDERING: register. Release: the completer that takes the waker sees all of it (`complete`, Acquire). Acquire: when
        // the completer came first, its result is visible (`complete`, Release).
        let before = word.swap(raw.as_ptr(), order!(register: AcqRel));
        if let Some(ended) = ended(before) {
            // ORDERING: restore. Release: what the completer wrote is passed on to whoever would succeed this waiter
            // (`succeed_ended`, Acquire). The waiter itself has it from its exchange. The end stands in the word again before
            // the waker is dropped, whose code is the user's.
            word.store(before, order!(restore: Release));
            // SAFETY: the word that was put in and has been overwritten by its only other reader-to-be.
            drop(unsafe { ThinWaker::from_raw(raw) });
            return Poll::Ready(ended);
        }
        debug_assert!(before != DETACHED, "a waiter polled after it had detached");
        registration.0 = words;
        if before != PENDING {
            // SAFETY: what is neither an end nor a sentinel is an older waker, which the exchange hands back.
            drop(unsafe { waker_of(before) });
        }
        Poll::Pending
    }

    /// Goes for ever. The waiter's last act, unless the answer is [`Detached::Finished`].
    ///
    /// # Safety
    /// `this` is alive up to the exchange, and this is the waiter's one call of it.
    #[inline]
    pub unsafe fn raw_detach(this: *const Self) -> Detached {
        // SAFETY: alive up to the exchange. The reference is to the atomic alone, which may vanish during the call.
        let word = unsafe { &(*this).word };
        // ORDERING: detach. Release: the waiter's accesses are over before a completer that reads DETACHED frees what they
        // shared (`complete`, Acquire). Acquire: when the completer came first, its result is visible (`complete`, Release).
        let before = word.swap(DETACHED, order!(detach: AcqRel));
        if let Some(ended) = ended(before) {
            return Detached::Finished(ended);
        }
        debug_assert!(before != DETACHED, "a waiter detached twice");
        let registered = before != PENDING;
        // SAFETY: what is no sentinel is the waker that this waiter registered, which the exchange hands back.
        Detached::Pending(registered.then(|| unsafe { waker_of(before) }))
    }

    /// The last look before the memory is given back.
    #[inline]
    pub(crate) fn retire(&mut self) {
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
        // ORDERING: debug. Relaxed: for show.
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

/// The side that completes. Dropped without completing, it abandons: the [`Waiter`] learns of it and never hangs.
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

// SAFETY: it makes one exchange on the word, which may be made from any thread.
unsafe impl Send for Completer<'_> {}
// SAFETY: by reference it only makes an atomic load.
unsafe impl Sync for Completer<'_> {}

impl Completer<'_> {
    /// Completes, and wakes the waiter if there is one.
    ///
    /// One atomic read-modify-write, beside what the wake-up takes.
    pub fn complete(self) {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: the borrow keeps the word alive, and a completer finishes once: `self` is consumed and not dropped.
        wake(unsafe { Completion::raw_complete(this.completion) });
    }

    /// Whether the [`Waiter`] was dropped, so that nobody will learn of the completion.
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

/// The side that waits: a future, and a blocking wait with or without a deadline. Dropping it detaches.
///
/// Once it has given its answer, every further poll or wait gives the same answer.
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
    /// Set once the completer has finished; the word is not touched after that.
    ended: Option<Ended>,
    lifetime: PhantomData<&'a Completion>,
}

// SAFETY: it makes atomic operations on the word, which may be made from any thread.
unsafe impl Send for Waiter<'_> {}
// SAFETY: by reference it only makes an atomic load.
unsafe impl Sync for Waiter<'_> {}

impl Waiter<'_> {
    /// Whether the completer has finished, so that a wait would return at once.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the borrow keeps the word alive.
        self.ended.is_some() || unsafe { Completion::raw_ended(self.completion) }.is_some()
    }

    /// Blocks the thread until the completer has finished.
    ///
    /// # Errors
    /// [`Abandoned`] when the completer was dropped without completing.
    #[cfg(feature = "std")]
    pub fn blocking_wait(self) -> Result<(), Abandoned> {
        park::block_on(self)
    }

    /// Blocks the thread until the completer has finished, or for as long as `limit`. True: finished.
    ///
    /// A limit past what the clock can tell is no limit. A limit of zero is a look: it registers
    /// nothing.
    ///
    /// What finished is told by [`blocking_wait`](Waiter::blocking_wait) or by awaiting, which then
    /// return at once.
    #[cfg(feature = "std")]
    pub fn blocking_wait_timeout(&mut self, limit: Duration) -> bool {
        if limit.is_zero() {
            return self.is_finished();
        }
        park::block_on_for(Pin::new(self), limit).is_some()
    }

    /// Blocks the thread until the completer has finished, or until `deadline`. True: finished. If
    /// the deadline has passed, it is a look.
    #[cfg(feature = "std")]
    pub fn blocking_wait_deadline(&mut self, deadline: Instant) -> bool {
        if deadline <= Instant::now() {
            return self.is_finished();
        }
        park::block_on_until(Pin::new(self), Some(deadline)).is_some()
    }
}

impl Future for Waiter<'_> {
    type Output = Result<(), Abandoned>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.ended.is_none() {
            // SAFETY: the borrow keeps the word alive, and the waiter detaches only when it is dropped.
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
            // SAFETY: the borrow keeps the word alive, and this is the waiter's last act. Nothing is shared but the word.
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
