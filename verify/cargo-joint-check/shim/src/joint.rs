//! What the tool writes into the source, and what tests use.

use core::{cell::Cell, mem::size_of, ptr};

use crate::{memory::checker, slot::Slot};

pub use crate::model::model;
pub use crate::wake::block_on;

pub(crate) type Watched = Slot<joint_check::cell::UnsafeCell<()>>;

real::thread_local! {
    /// The last cell whose pointer was taken: that pointer, and how many bytes are there.
    static LAST: Cell<(usize, usize, *const Watched)> = const { Cell::new((0, 0, ptr::null())) };
}

#[track_caller]
pub(crate) fn note(slot: &Watched, kept: (usize, usize)) {
    if crate::slot::in_model() {
        slot.get(Some(kept));
        LAST.set((kept.0, kept.1, slot));
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

#[track_caller]
fn seen<P>(pointer: &P, writes: bool) {
    if size_of::<P>() < size_of::<usize>() {
        return;
    }
    // SAFETY: a pointer begins with its address. Of another type, it is only compared.
    let address = unsafe { ptr::from_ref(pointer).cast::<usize>().read_unaligned() };
    let (last, size, slot) = LAST.replace((0, 0, ptr::null()));
    if address == last && !slot.is_null() {
        // SAFETY: the cell was there a moment ago, and its memory is kept.
        access(unsafe { &*slot }, (last, size), writes);
    }
}

/// An access to a cell.
#[track_caller]
pub(crate) fn access(slot: &Watched, kept: (usize, usize), writes: bool) {
    if !crate::slot::in_model() {
        return;
    }
    let model = slot.get(Some(kept));
    let _side = checker();
    if writes {
        model.with_mut(|_| ());
    } else {
        model.with(|_| ());
    }
}
