//! What the tool writes into the source, and what tests use.

use core::{cell::RefCell, mem::size_of, ptr};
use real::collections::BTreeMap;

use joint_check::alloc::outside;

use crate::slot::Slot;

/// Polls a future until it is ready. The thread is blocked until its waker is woken.
pub use joint_check::future::block_until_woken as block_on;

pub use crate::model::model;

pub(crate) type Watched = Slot<joint_check::cell::UnsafeCell<()>>;

real::thread_local! {
    /// The cells whose pointers were taken in this execution: their places, sizes, and names.
    static TAKEN: RefCell<BTreeMap<usize, (usize, *const Watched)>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// Begins an execution.
pub(crate) fn begin() {
    TAKEN.take();
}

#[track_caller]
pub(crate) fn note(slot: &Watched, (place, size): (usize, usize)) {
    if crate::slot::in_model() {
        slot.get(Some((place, size)));
        let _outside = outside();
        TAKEN.with_borrow_mut(|taken| taken.insert(place, (size, slot)));
    }
}

/// The pointer is that of a cell, and is read from here.
#[track_caller]
pub fn read<P>(pointer: P) -> P {
    seen(&pointer, false);
    pointer
}

/// The pointer is that of a cell, and is written to here.
#[track_caller]
pub fn write<P>(pointer: P) -> P {
    seen(&pointer, true);
    pointer
}

/// The pointer is that of a cell, and the next statement reads from it.
#[track_caller]
pub fn read_at<P>(pointer: &P) {
    seen(pointer, false);
}

/// The pointer is that of a cell, and the next statement writes to it.
#[track_caller]
pub fn write_at<P>(pointer: &P) {
    seen(pointer, true);
}

#[track_caller]
fn seen<P>(pointer: &P, writes: bool) {
    if size_of::<P>() < size_of::<usize>() {
        return;
    }
    // SAFETY: a pointer begins with its address. Of another type, it is only compared.
    let address = unsafe { ptr::from_ref(pointer).cast::<usize>().read_unaligned() };
    if let Some((size, slot)) = TAKEN.with_borrow(|taken| taken.get(&address).copied()) {
        // SAFETY: the cell was there, and memory is kept until the execution ends.
        access(unsafe { &*slot }, (address, size), writes);
    }
}

/// An access to a cell.
#[track_caller]
pub(crate) fn access(slot: &Watched, kept: (usize, usize), writes: bool) {
    if !crate::slot::in_model() {
        return;
    }
    let model = slot.get(Some(kept));
    if writes {
        model.with_mut(|_| ());
    } else {
        model.with(|_| ());
    }
}
