//! [`Place`]: a waiter's node in the list. It outlives the waiter, and later waiters take it over.
//!
//! Rules for the fields:
//!
//! 1. The completer of `word` is the sender's end of the wait. Its waiter is the one
//!    [`SharedWaiter`](super::shared_waiter::SharedWaiter) that holds the place.
//! 2. `link` is written before the place is published, and only read from then on.
//! 3. A place is freed by its maker if it was never published, and otherwise together with the
//!    whole list.

use std::ptr::{self, NonNull};

use joint::Completion;
use joint_switch::{Retire, UnsafeCell, heap};

pub(super) struct Place {
    word: Completion,
    link: UnsafeCell<Link>,
}

#[derive(Clone, Copy)]
struct Link {
    /// The place that was made before this one.
    next: *mut Place,
    /// The number of places from here to the end of the list.
    count: usize,
}

/// The end of a list that the first waiter has entered. Its word is not in a place, but in
/// [`Waiters`](super::waiters::Waiters).
pub(super) const FIRST: *mut Place = ptr::without_provenance_mut(3);

impl Place {
    /// Returns the place at the head of a list, or `None` at the end, which is null or [`FIRST`].
    #[inline]
    pub(super) fn at(list: *mut Self) -> Option<NonNull<Self>> {
        match list {
            FIRST => None,
            list => NonNull::new(list),
        }
    }

    /// Allocates a place outside any list, with a registered waiter, given the word of its waker.
    pub(super) fn allocate(waker: NonNull<()>) -> NonNull<Self> {
        let this = heap::allocate::<Self>();
        let value = Self {
            word: Completion::new(),
            link: UnsafeCell::new(Link {
                next: ptr::null_mut(),
                count: 1,
            }),
        };
        // SAFETY: the block is fresh and ours.
        unsafe { this.write(value) };
        // SAFETY: the word is new. The caller takes the waker back if the place is not published.
        unsafe { Completion::raw_preset(Self::word(this), waker) };
        this
    }

    pub(super) fn word(this: NonNull<Self>) -> *const Completion {
        // SAFETY: only the place of the field is computed.
        unsafe { &raw const (*this.as_ptr()).word }
    }

    /// Links a place in front of a list.
    ///
    /// # Safety
    /// This place belongs to the caller, and has not been published. `next` is the head of a list
    /// that is alive, or its end.
    pub(super) unsafe fn put_before(this: NonNull<Self>, next: *mut Self) {
        // SAFETY: passed on from the caller.
        let count = 1 + unsafe { Self::count(next) };
        // SAFETY: the caller's own. The reference is to the cell alone.
        let link = unsafe { &(*this.as_ptr()).link };
        link.with_mut(|link| {
            // SAFETY: by rule 2 no other thread reads it yet.
            unsafe { link.write(Link { next, count }) }
        });
    }

    /// Returns the number of places in a list.
    ///
    /// # Safety
    /// `list` is the head of a list that is alive, or its end.
    pub(super) unsafe fn count(list: *mut Self) -> usize {
        // SAFETY: passed on from the caller.
        Self::at(list).map_or(0, |place| unsafe { Self::link(place) }.count)
    }

    /// Returns the rest of the list, or its end.
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
        // SAFETY: by rule 2 it is not written again.
        link.with(|link| unsafe { *link })
    }

    /// Frees one place.
    ///
    /// # Safety
    /// No other thread uses the place, and its word owns no waker.
    pub(super) unsafe fn free(mut this: NonNull<Self>) {
        // SAFETY: the place is the caller's alone.
        let place = unsafe { this.as_mut() };
        place.word.retire();
        place.link.retire();
        // SAFETY: the place came from `allocate`, and no one uses it after this. Neither field has
        // a destructor to run.
        unsafe { heap::release(this) };
    }
}
