//! [`Seat`]: one waiter, with its place in the list while it waits.

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

/// A waiter. It has a place from the first poll that is pending until it leaves.
pub(super) struct Seat {
    place: Option<NonNull<Place>>,
    registration: Registration,
}

// SAFETY: it makes atomic operations on the place's word, which may be made from any thread.
unsafe impl Send for Seat {}
// SAFETY: by reference it does nothing.
unsafe impl Sync for Seat {}

impl UnwindSafe for Seat {}
impl RefUnwindSafe for Seat {}

impl Seat {
    pub(super) const fn new() -> Self {
        Self {
            place: None,
            registration: Registration::new(),
        }
    }

    /// Ready when the wait has ended, or registers `waker` to be woken then.
    ///
    /// # Safety
    /// `waiters` is the same in all calls, and alive.
    #[inline]
    pub(super) unsafe fn poll(&mut self, waiters: &Waiters, waker: &Waker) -> Poll<Ended> {
        // The end stands here before it stands in each place, so that no two who look can differ.
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

    /// Leaves the place, if there is one. The waker that waits in it is dropped, which is the user's code, when all is done.
    ///
    /// # Safety
    /// As for `poll`.
    #[inline]
    pub(super) unsafe fn leave(&mut self, waiters: &Waiters) {
        let Some(place) = self.place.take() else {
            return;
        };
        self.registration = Registration::new();
        // SAFETY: the place is alive as long as this waiter is inside, which registered in it and has just forgotten it.
        let waker: Option<ThinWaker> = unsafe { Completion::raw_vacate(Place::word(place)) };
        waiters.go_out();
        drop(waker);
    }
}
