//! [`WakerSlot`]: a place for one waker of another crate, so that it is not boxed.
//!
//! The slot starts with a [`Header`], as a task does, so the word of a
//! [`Completion`](super::Completion) holds the slot's address as that of any other waker. There is
//! no further state:
//!
//! 1. A waiter fills its slot at most once, before the exchange that puts the slot's address into
//!    the word.
//! 2. From then on, the waker in the slot belongs to whoever owns the [`ThinWaker`] with the slot's
//!    address: the word, and then the side whose exchange took it out. That side moves the waker
//!    out, by waking or dropping it once, and never clones it.
//! 3. Both sides borrow the slot, so it outlives their last access. Without that a completer could
//!    not use it, because it moves the waker out after its exchange.

use core::{mem::MaybeUninit, panic::RefUnwindSafe, ptr::NonNull, task::Waker};

use crate::waker::{Header, ThinWaker, VTable};
use joint_switch::{UnsafeCell, const_unless_modelled};

/// A place for one waker of another crate, so that a [`Completion`](crate::Completion) that is
/// [split with it](crate::Completion::split_with) does not box that waker. It is three
/// pointers in size, or 16 bytes where pointers have 32 bits.
///
/// The first waker of another crate that is registered is kept there. One that replaces it is
/// boxed. Wakers of this crate's tasks and parked threads need neither.
#[derive(Debug)]
#[repr(C)]
pub struct WakerSlot {
    header: Header,
    waker: UnsafeCell<MaybeUninit<Waker>>,
}

// SAFETY: a waker may be used and dropped on any thread, and the rules above say which side may
// access it.
unsafe impl Sync for WakerSlot {}

impl RefUnwindSafe for WakerSlot {}

static TABLE: VTable = VTable {
    clone: |_| unreachable!("the waker in a slot is never cloned"),
    // SAFETY: the caller gives up the waker with this slot's address.
    wake: |header| unsafe { WakerSlot::take(header) }.wake(),
    wake_by_ref: |_| unreachable!("the waker in a slot is only woken by value"),
    // SAFETY: as for `wake`.
    drop: |header| drop(unsafe { WakerSlot::take(header) }),
    family: None,
};

impl WakerSlot {
    const_unless_modelled! {
        /// Creates an empty slot.
        #[must_use]
        pub fn new() -> Self {
            Self { header: Header::new(&TABLE), waker: UnsafeCell::new(MaybeUninit::uninit()) }
        }
    }

    /// Fills the slot, and returns the waker that has the slot's address.
    ///
    /// # Safety
    /// The slot holds no waker. It stays alive and is not moved until the returned waker has been
    /// woken by value or dropped, and that waker is used in no other way.
    pub(super) unsafe fn put(this: NonNull<Self>, waker: Waker) -> ThinWaker {
        // SAFETY: alive by this function's contract. The reference is to the cell alone.
        let cell = unsafe { &(*this.as_ptr()).waker };
        cell.with_mut(|place| {
            // SAFETY: by rule 1 no other thread has the slot's address yet.
            unsafe { place.write(MaybeUninit::new(waker)) }
        });
        // SAFETY: the slot starts with a header, and is alive as long as the one reference. Its
        // table wakes and drops the waker that was put in, and is not used for anything else.
        unsafe { ThinWaker::from_header(this.cast()) }
    }

    /// # Safety
    /// `header` is that of a slot, whose waker the caller owns and uses no more.
    unsafe fn take(header: NonNull<Header>) -> Waker {
        // SAFETY: alive by this function's contract. The reference is to the cell alone.
        let cell = unsafe { &(*header.cast::<Self>().as_ptr()).waker };
        // SAFETY: by rule 2 no other side accesses the slot until the caller's waker is gone.
        let waker = cell.with_mut(|place| unsafe { place.read() });
        // SAFETY: it was put in before the exchange that gave the caller the slot's address.
        unsafe { waker.assume_init() }
    }
}

impl Default for WakerSlot {
    fn default() -> Self {
        Self::new()
    }
}
