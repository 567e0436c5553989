//! How deeply the cancellations of a thread are nested: a future that is dropped may have the last
//! handle of another task, and so on. Below the level [`DEEPEST`], a future waits in a list until
//! the one above has been dropped, so that no chain of tasks overflows the stack.
//!
//! | depth | the last handle of an idle future is dropped | `Task::cancel`, and a driver's drop |
//! |---|---|---|
//! | less than `DEEPEST` | the future is dropped | the future is dropped |
//! | `DEEPEST` | the future is dropped, and then the list, until nothing is added any more | the same |
//! | more | the future is put on the list | the same, with a list of its own: its caller may look at what is left |

use std::{cell::Cell, mem, mem::ManuallyDrop, ptr::NonNull};

use joint_switch::thread_local;

use super::{
    cell::{Cancel, leave},
    state::Side,
};

/// The depth from which on destructors do not run in Rust's order any more, so 64 tasks are nested.
/// Their frames have to fit on a stack beside those of the program.
const DEEPEST: usize = 63;

thread_local! {
    /// It needs no destructor, so it is there until the thread ends: the list is empty by then.
    static HERE: Here = const { Here {
        depth: Cell::new(0),
        list: Cell::new(ManuallyDrop::new(Vec::new())),
    } };
}

struct Here {
    depth: Cell<usize>,
    list: Cell<ManuallyDrop<Vec<Idle>>>,
}

/// The handles' reference.
pub(super) struct Reference(pub(super) NonNull<dyn Cancel>);

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: the last handle gives up the reference here.
        unsafe { leave(self.0, Side::Handles) };
    }
}

/// An idle future that was cancelled. Dropping this drops it, and then gives up the reference.
pub(super) struct Idle(Reference);

impl Idle {
    /// # Safety
    /// `State::cancel` has told the caller to drop the future, and there is no handle.
    pub(super) unsafe fn new(reference: Reference) -> Self {
        Self(reference)
    }

    /// Drops the future now, or puts it on the list.
    pub(super) fn cancel(self) {
        if HERE.with(|here| here.depth.get()) <= DEEPEST {
            return now(|| drop(self));
        }
        HERE.with(|here| {
            let mut list = here.list.replace(ManuallyDrop::new(Vec::new()));
            list.push(self);
            here.list.set(list);
        });
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        // SAFETY: alive by the reference, which is given up after this.
        let cell = unsafe { self.0.0.as_ref() };
        // SAFETY: by the contract of `new`, and this happens once.
        unsafe { cell.drop_future(true) };
    }
}

/// Drops a future by this function. When this returns, all that it cancels is gone.
pub(super) fn now(drop_future: impl FnOnce()) {
    let level = Level::enter();
    if level.0 < DEEPEST {
        drop_future();
    } else {
        let listed = Listed::begin();
        drop_future();
        listed.drop_all();
    }
}

/// A level, with the depth above it. It is left when this is dropped.
struct Level(usize);

impl Level {
    fn enter() -> Self {
        HERE.with(|here| Self(here.depth.replace(here.depth.get() + 1)))
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        HERE.with(|here| here.depth.set(self.0));
    }
}

/// A list of its own, with the one before. Dropping it drops the futures that are left on it, if a
/// destructor has panicked. A second panic ends the program.
struct Listed(ManuallyDrop<Vec<Idle>>);

impl Listed {
    fn begin() -> Self {
        Self(replace(ManuallyDrop::new(Vec::new())))
    }

    fn drop_all(&self) {
        loop {
            let list = ManuallyDrop::into_inner(replace(ManuallyDrop::new(Vec::new())));
            if list.is_empty() {
                return;
            }
            drop(list);
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.drop_all();
        replace(mem::take(&mut self.0));
    }
}

fn replace(list: ManuallyDrop<Vec<Idle>>) -> ManuallyDrop<Vec<Idle>> {
    HERE.with(|here| here.list.replace(list))
}
