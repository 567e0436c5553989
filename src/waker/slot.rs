//! [`WakerSlot`]: a place for one waker of another crate, to whose address a [`ThinWaker`] is
//! tagged.
//!
//! It is either a box, which belongs to the thin waker, or lies in memory that somebody else owns:
//!
//! 1. The slot is filled before the exchange that puts its address into a word, and stays full and
//!    in its place as long as there is the thin waker with its address.
//! 2. The waker in it belongs to whoever owns that thin waker: the word, and then the side whose
//!    exchange took it out.
//! 3. A [copy](WakerSlot::copy) of the slot's bytes is a waker only in the hands of that side,
//!    which then forgets the thin waker. Every other copy is forgotten.

use core::{mem::MaybeUninit, panic::RefUnwindSafe, task::Waker};

use joint_switch::{UnsafeCell, const_unless_modelled};

#[cfg(doc)]
use super::ThinWaker;

/// A place for one waker of another crate, so that a [`Completion`](crate::Completion) that is
/// [split with it](crate::Completion::split_with) does not box that waker. It is two pointers in
/// size.
///
/// The first waker of another crate that is registered is kept there. One that replaces it is
/// boxed. Wakers of this crate's tasks and parked threads need neither.
// Aligned for the tags of a `ThinWaker`.
#[derive(Debug)]
#[repr(align(4))]
pub struct WakerSlot(UnsafeCell<MaybeUninit<Waker>>);

// SAFETY: a waker may be used and dropped on any thread, and the rules above say which side may
// access it.
unsafe impl Sync for WakerSlot {}

impl RefUnwindSafe for WakerSlot {}

impl WakerSlot {
    const_unless_modelled! {
        /// Creates an empty slot.
        #[must_use]
        pub fn new() -> Self {
            Self(UnsafeCell::new(MaybeUninit::uninit()))
        }
    }

    /// # Safety
    /// The slot is full or empty, and no one else accesses it.
    #[inline]
    pub(super) unsafe fn fill(&self, waker: Waker) {
        // SAFETY: passed on from the caller.
        self.0
            .with_mut(|place| unsafe { place.write(MaybeUninit::new(waker)) });
    }

    /// Copies the bytes of the slot.
    ///
    /// # Safety
    /// No one writes the slot meanwhile.
    #[inline]
    pub(super) unsafe fn copy(&self) -> MaybeUninit<Waker> {
        // SAFETY: passed on from the caller.
        self.0.with(|place| unsafe { place.read() })
    }
}

retires!(WakerSlot: 0);

default_is_new!(WakerSlot);
