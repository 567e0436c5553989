//! [`SharedWaiter`]: a waiter, and its place in the list while it waits.

use std::{
    mem,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr,
    task::{Poll, Waker},
};

use super::{
    place::{FIRST, Place},
    waiters::Waiters,
};
use joint::completion::{Completion, Ended, Registration};

/// A waiter. It has a place, or the first word, from its first pending poll until it leaves.
pub(crate) struct SharedWaiter {
    /// A place, `FIRST`, `NOWHERE`, or `BEFORE_FIRST`.
    place: *mut Place,
    registration: Registration,
}

const NOWHERE: *mut Place = ptr::null_mut();
/// The first waiter of a channel has not been polled.
const BEFORE_FIRST: *mut Place = ptr::without_provenance_mut(1);

// SAFETY: a waiter makes atomic operations on the place's word, which any thread may make.
unsafe impl Send for SharedWaiter {}
// SAFETY: a reference to a waiter does nothing.
unsafe impl Sync for SharedWaiter {}

impl UnwindSafe for SharedWaiter {}
impl RefUnwindSafe for SharedWaiter {}

impl SharedWaiter {
    pub(crate) const fn new() -> Self {
        Self {
            place: NOWHERE,
            registration: Registration::new(),
        }
    }

    /// Creates the one waiter of a channel that may use the first word.
    pub(crate) const fn first() -> Self {
        Self {
            place: BEFORE_FIRST,
            registration: Registration::new(),
        }
    }

    /// Returns `Ready` if the wait has ended, and otherwise registers `waker` to be woken then.
    ///
    /// # Safety
    /// `waiters` is the same in all calls, and alive.
    #[inline]
    pub(crate) unsafe fn poll(&mut self, waiters: &Waiters, waker: &Waker) -> Poll<Ended> {
        // Check `waiters` first. The end is written there before it is written to each place, so
        // that all waiters agree on whether it has come.
        if let Some(ended) = waiters.ended() {
            // SAFETY: passed on from the caller.
            unsafe { self.leave(waiters) };
            return Poll::Ready(ended);
        }
        // SAFETY: passed on from the caller.
        unsafe { self.wait(waiters, waker) }
    }

    /// # Safety
    /// As for `poll`.
    unsafe fn wait(&mut self, waiters: &Waiters, waker: &Waker) -> Poll<Ended> {
        if self.place == BEFORE_FIRST {
            self.place = NOWHERE;
            // SAFETY: this is the first waiter, and forgets it here.
            if let Some(registration) = unsafe { waiters.enter_first(waker) } {
                self.place = FIRST;
                self.registration = registration;
                return Poll::Pending;
            }
        }
        if self.place == NOWHERE {
            return match waiters.enter(waker) {
                Ok((place, registration)) => {
                    self.place = place.as_ptr();
                    self.registration = registration;
                    Poll::Pending
                }
                Err(ended) => Poll::Ready(ended),
            };
        }
        let word = Self::word(self.place, waiters);
        // SAFETY: the word is alive as long as this waiter is inside, or is that of the first
        // waiter, whose handle keeps it alive. It is this waiter's.
        let poll = unsafe { Completion::raw_poll(word, waker, &mut self.registration) };
        if poll.is_ready() {
            // SAFETY: passed on from the caller.
            unsafe { self.leave(waiters) };
        }
        poll
    }

    /// Leaves the place, if there is one. The registered waker is dropped last, because its drop is
    /// user code.
    ///
    /// # Safety
    /// As for `poll`.
    #[inline]
    pub(crate) unsafe fn leave(&mut self, waiters: &Waiters) {
        let place = mem::replace(&mut self.place, NOWHERE);
        if place == NOWHERE || place == BEFORE_FIRST {
            return;
        }
        self.registration = Registration::new();
        // SAFETY: the word is alive as in `wait`. The waiter has registered in it, and has just
        // forgotten it.
        let waker = unsafe { Completion::raw_vacate(Self::word(place, waiters)) };
        if place != FIRST {
            waiters.go_out();
        }
        drop(waker);
    }

    /// Returns the word of a waiter that has registered.
    #[inline]
    fn word(place: *mut Place, waiters: &Waiters) -> *const Completion {
        match Place::at(place) {
            Some(place) => Place::word(place),
            None => waiters.first(),
        }
    }
}
