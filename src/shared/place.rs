//! [`Place`]: one waiter's part of the list, which outlives the waiter and is taken over by later ones.
//!
//! Rules for the fields:
//!
//! 1. `word` has the end of the wait as its completer, and as its waiter the one [`Seat`](super::seat::Seat) that holds the
//!    place.
//! 2. `link` is written before the place is published, and only read from then on.
//! 3. A place is freed by its maker before it is published, and after that with the whole list.

use core::ptr::{self, NonNull};

use crate::{
    Completion,
    sync::{Retire, UnsafeCell, heap},
};

pub(super) struct Place {
    word: Completion,
    link: UnsafeCell<Link>,
}

#[derive(Clone, Copy)]
struct Link {
    /// The place that was made before this one.
    next: *mut Place,
    /// How many places there are from here to the end of the list.
    count: usize,
}

impl Place {
    /// A place outside of any list, whose waiter is registered by the word of its waker.
    pub(super) fn allocate(waker: NonNull<()>) -> NonNull<Self> {
        let this = heap::allocate::<Self>();
        let value = Self {
            word: Completion::registered(waker),
            link: UnsafeCell::new(Link {
                next: ptr::null_mut(),
                count: 1,
            }),
        };
        // SAFETY: the block is fresh and ours.
        unsafe { this.write(value) };
        this
    }

    pub(super) fn word(this: NonNull<Self>) -> *const Completion {
        // SAFETY: only the place of the field is computed.
        unsafe { &raw const (*this.as_ptr()).word }
    }

    /// Puts a place in front of a list.
    ///
    /// # Safety
    /// This place is the caller's, and has not been published. `next` is the head of a list that is alive, or null.
    pub(super) unsafe fn put_before(this: NonNull<Self>, next: *mut Self) {
        // SAFETY: passed on from the caller.
        let count = 1 + unsafe { Self::count(next) };
        // SAFETY: the caller's own. The reference is to the cell alone.
        let link = unsafe { &(*this.as_ptr()).link };
        link.with_mut(|link| {
            // SAFETY: by rule 2 nobody else reads it yet.
            unsafe { link.write(Link { next, count }) }
        });
    }

    /// How many places a list has.
    ///
    /// # Safety
    /// `list` is the head of a list that is alive, or null.
    pub(super) unsafe fn count(list: *mut Self) -> usize {
        // SAFETY: passed on from the caller.
        NonNull::new(list).map_or(0, |place| unsafe { Self::link(place) }.count)
    }

    /// The rest of the list, or null.
    ///
    /// # Safety
    /// The place is in a list that is alive.
    pub(super) unsafe fn next(this: NonNull<Self>) -> *mut Self {
        // SAFETY: passed on from the caller.
        unsafe { Self::link(this) }.next
    }

    /// # Safety
    /// As for `next`.
    unsafe fn link(this: NonNull<Self>) -> Link {
        // SAFETY: alive by this function's contract. The reference is to the cell alone.
        let link = unsafe { &(*this.as_ptr()).link };
        // SAFETY: by rule 2 nobody writes it any more.
        link.with(|link| unsafe { *link })
    }

    /// Frees one place.
    ///
    /// # Safety
    /// Nobody else uses the place any more, and its word owns no waker.
    pub(super) unsafe fn free(mut this: NonNull<Self>) {
        // SAFETY: the place is the caller's alone.
        let place = unsafe { this.as_mut() };
        place.word.retire();
        place.link.retire();
        // SAFETY: it came from `allocate`, and nobody uses it any more. Neither field has a destructor to run.
        unsafe { heap::release(this) };
    }
}
