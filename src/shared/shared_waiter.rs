//! [`SharedWaiter`]: a waiter, and its place in the list while it waits.

use core::{
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
    task::{Poll, Waker},
};

use super::{place::Place, waiters::Waiters};
use crate::{
    Completion,
    completion::{Ended, Registration},
    waker::ThinWaker,
};

/// A waiter. It has a place from its first pending poll until it leaves.
pub(super) struct SharedWaiter {
    place: Option<NonNull<Place>>,
    registration: Registration,
}

// SAFETY: a waiter makes atomic operations on the place's word, which any thread may make.
unsafe impl Send for SharedWaiter {}
// SAFETY: a reference to a waiter does nothing.
unsafe impl Sync for SharedWaiter {}

impl UnwindSafe for SharedWaiter {}
impl RefUnwindSafe for SharedWaiter {}

impl SharedWaiter {
    pub(super) const fn new() -> Self {
        Self {
            place: None,
            registration: Registration::new(),
        }
    }

    /// Returns `Ready` if the wait has ended, and otherwise registers `waker` to be woken then.
    ///
    /// # Safety
    /// `waiters` is the same in all calls, and alive.
    #[inline]
    pub(super) unsafe fn poll(&mut self, waiters: &Waiters, waker: &Waker) -> Poll<Ended> {
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
        let Some(place) = self.place else {
            return match waiters.enter(waker) {
                Ok((place, registration)) => {
                    self.place = Some(place);
                    self.registration = registration;
                    Poll::Pending
                }
                Err(ended) => Poll::Ready(ended),
            };
        };
        let word = Place::word(place);
        // SAFETY: the place is alive as long as this waiter is inside, and is this waiter's.
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
    pub(super) unsafe fn leave(&mut self, waiters: &Waiters) {
        let Some(place) = self.place.take() else {
            return;
        };
        self.registration = Registration::new();
        // SAFETY: the place is alive as long as this waiter is inside. The waiter has registered in
        // it, and has just forgotten it.
        let waker: Option<ThinWaker> = unsafe { Completion::raw_vacate(Place::word(place)) };
        waiters.go_out();
        drop(waker);
    }
}
