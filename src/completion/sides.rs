//! The two sides of a word that borrow it: [`Completer`] and [`Waiter`].

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::{Completion, Ended, Registration, WakerSlot};
use crate::waker::{self, ThinWaker};

impl Completion {
    /// Resets the word and splits it into its two sides.
    ///
    /// If a [`Waiter`] of an earlier split was leaked while it was registered, its waker is leaked
    /// with it.
    #[must_use = "dropping both sides abandons and detaches the word"]
    pub fn split(&mut self) -> (Completer<'_>, Waiter<'_>) {
        self.sides(None)
    }

    /// As [`split`](Completion::split), with a place for a waker of another crate, which is then
    /// not boxed.
    ///
    /// # Example
    /// ```
    /// use joint::{Completion, completion::WakerSlot};
    ///
    /// let (mut completion, mut slot) = (Completion::new(), WakerSlot::new());
    /// let (completer, waiter) = completion.split_with(&mut slot);
    /// completer.complete();
    /// assert_eq!(joint::block_on(waiter), Ok(()));
    /// ```
    #[must_use = "dropping both sides abandons and detaches the word"]
    pub fn split_with<'a>(&'a mut self, slot: &'a mut WakerSlot) -> (Completer<'a>, Waiter<'a>) {
        self.sides(Some(slot))
    }

    fn sides<'a>(&'a mut self, slot: Option<&'a WakerSlot>) -> (Completer<'a>, Waiter<'a>) {
        *self = Self::new();
        let completion = &*self;
        let waiter = Waiter {
            completion,
            registration: Registration::new(),
            slot,
        };
        (Completer { completion }, waiter)
    }
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
    completion: &'a Completion,
}

impl Completer<'_> {
    /// Completes, and wakes the waiter if it is waiting.
    ///
    /// # Cost
    /// One atomic read-modify-write, besides the wake-up.
    pub fn complete(self) {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: a completer finishes once, because `self` is consumed and not dropped.
        unsafe { Completion::raw_complete(this.completion) }.wake();
    }

    /// Returns whether the [`Waiter`] was dropped before the end, so that no one is left to wake.
    pub fn is_detached(&self) -> bool {
        self.completion.is_detached()
    }
}

impl Drop for Completer<'_> {
    fn drop(&mut self) {
        // SAFETY: `complete` does not drop.
        unsafe { Completion::raw_abandon(self.completion) }.wake();
    }
}

shows!(Completer<'_>: is_detached);

/// The completer was dropped without completing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned;

says!(Abandoned: Self => "the completer was dropped without completing");

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
    completion: &'a Completion,
    registration: Registration,
    /// The place for the first foreign waker, until it is used.
    slot: Option<&'a WakerSlot>,
}

impl Waiter<'_> {
    /// Returns whether the completer has finished, so that a wait would return at once.
    pub fn is_finished(&self) -> bool {
        self.completion.ended().is_some()
    }
}

impl Future for Waiter<'_> {
    type Output = Result<(), Abandoned>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let slot = &mut this.slot;
        let thin = |waker| match slot.take_if(|_| !waker::is_own(&waker)) {
            // SAFETY: the slot is used once. It is borrowed as long as the word, so it outlives the
            // side that the word gives the waker to.
            Some(slot) => unsafe { ThinWaker::placed(waker, slot) },
            None => ThinWaker::from(waker),
        };
        let (word, registration) = (this.completion, &mut this.registration);
        // SAFETY: the waiter detaches only when the waiter is dropped.
        let poll = unsafe { word.poll_as(cx.waker(), registration, thin) };
        poll.map(|ended| match ended {
            Ended::Done => Ok(()),
            Ended::Abandoned => Err(Abandoned),
        })
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if !self.is_finished() {
            // SAFETY: this is the waiter's last act. Only the word is shared.
            drop(unsafe { Completion::raw_detach(self.completion) });
        }
    }
}

shows!(Waiter<'_>: is_finished);
