//! [`Awaited`]: a value that is written once, and its waiters.
//!
//! 1. `value` belongs to the sender until `waiters` says that there is a value. From then on
//!    everybody who may use this may read it, and whoever frees the memory drops it.

use std::mem::MaybeUninit;

use super::{Closed, waiters::Waiters};
use joint::completion::Ended;
use joint_switch::{Retire, UnsafeCell};

pub(crate) struct Awaited<T> {
    waiters: Waiters,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Awaited<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            waiters: Waiters::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Writes each part directly to its place, because the stack may have no room for a value.
    ///
    /// # Safety
    /// The place is fresh memory of the caller's.
    pub(super) unsafe fn write_to(place: *mut Self) {
        // SAFETY: the field is inside of the place.
        let waiters = unsafe { &raw mut (*place).waiters };
        // SAFETY: fresh, as the caller says.
        unsafe { waiters.write(Waiters::new()) };
        // SAFETY: as above.
        let value = unsafe { &raw mut (*place).value };
        // SAFETY: as above.
        unsafe { UnsafeCell::write_uninit(value) };
    }

    #[inline]
    pub(crate) fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// Writes the value, and wakes all waiters.
    ///
    /// # Panics
    /// With the first panic of a waiter's waker, after all others were woken.
    ///
    /// # Safety
    /// The caller is the sender, and calls this or `abandon` once.
    #[inline]
    pub(crate) unsafe fn send(&self, value: T) {
        self.value.with_mut(|place| {
            // SAFETY: by rule 1 no other thread touches the value.
            unsafe { place.cast::<T>().write(value) }
        });
        // SAFETY: passed on from the caller.
        unsafe { self.waiters.end(Ended::Done) };
    }

    /// Tells all waiters that there will be no value. Nobody is told if there are none, and
    /// `is_unused` says that nobody can wait any more.
    ///
    /// # Panics
    /// As `send`.
    ///
    /// # Safety
    /// As for `send`.
    pub(crate) unsafe fn abandon(&self, is_unused: bool) {
        // There is nobody to learn of the end, and no waker that a leaked waiter has left.
        if is_unused && self.waiters.is_open() {
            return;
        }
        // SAFETY: passed on from the caller.
        unsafe { self.waiters.end(Ended::Abandoned) };
    }

    /// Returns the answer, if it is known.
    #[inline]
    pub(crate) fn answer(&self) -> Option<Result<&T, Closed>> {
        let ended = self.waiters.ended()?;
        // SAFETY: the waiters have just said so.
        Some(unsafe { self.answer_of(ended) })
    }

    /// # Safety
    /// The wait has ended as `ended` says.
    #[inline]
    pub(crate) unsafe fn answer_of(&self, ended: Ended) -> Result<&T, Closed> {
        match ended {
            Ended::Done => Ok(self.value.with(|place| {
                // SAFETY: the sender has written the value, and by rule 1 it does not change.
                unsafe { &*place.cast::<T>() }
            })),
            Ended::Abandoned => Err(Closed),
        }
    }

    /// Calls `with` with the value if there is one, which is then the caller's.
    ///
    /// # Safety
    /// No other thread uses this any more. The value is not used after `with`.
    pub(crate) unsafe fn take<R>(&self, with: impl FnOnce(*mut T) -> R) -> Option<R> {
        // By rule 1 there is a value now, and it is ours.
        let has_value = self.waiters.ended() == Some(Ended::Done);
        has_value.then(|| self.value.with_mut(|place| with(place.cast())))
    }

    /// Makes the last access before the memory is freed.
    ///
    /// # Safety
    /// The sender and all waiters have left.
    pub(crate) unsafe fn retire(&mut self) {
        // SAFETY: passed on from the caller.
        unsafe { self.waiters.retire() };
        self.value.retire();
    }
}
