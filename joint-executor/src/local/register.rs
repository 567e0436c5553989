//! The register of a local executor's waiting tasks. The executor's end has to find them, and no
//! queue holds them. It also tells a waker which executor a task belongs to.
//!
//! A task is entered the first time that a poll of it is pending and it was not woken meanwhile,
//! and struck off when its future is gone. A task that is ready at its first poll is never entered.
//! An entry is one word, and is not a reference: a task that can no longer be woken or joined still
//! ends. In turn the task's metadata is the address of its [`Entry`].
//!
//! Invariant: a task's future is polled and dropped by its own executor alone, which is then the
//! current executor of its thread.

use core::ptr::{self, NonNull};

use super::state::LocalState;
use crate::room::{self, Room, put};
use joint::task;
use joint_switch::UnsafeCell;

/// The right and the duty to run a task of a local executor once.
pub(super) type Runnable = task::Runnable<Entry>;

struct Home(*const LocalState);

/// The waiting tasks. Each is alive while its future exists, and so while it is entered.
pub(super) struct Register(Room<Home>);

/// The metadata of each task: the address of its entry, or null.
pub(super) struct Entry(UnsafeCell<*mut room::Entry>);

// SAFETY: the task's runner writes it before the task is idle for the first time. Other threads
// read it after they have acquired that (`home`).
unsafe impl Sync for Entry {}
// SAFETY: it is an address, and `home` says why it is followed.
unsafe impl Send for Entry {}

impl Entry {
    pub(super) fn none() -> Self {
        Self(UnsafeCell::new(ptr::null_mut()))
    }

    #[inline]
    fn get(&self) -> *mut room::Entry {
        // SAFETY: no thread writes it at the same time, as above.
        self.0.with(|entry| unsafe { *entry })
    }

    #[inline]
    pub(super) fn is_entered(&self) -> bool {
        !self.get().is_null()
    }

    /// The executor of a task that is entered. The caller is its thread, or has acquired the change
    /// by which the task became idle.
    #[inline]
    pub(super) fn home(&self) -> *const LocalState {
        assert!(self.is_entered(), "the task is entered");
        // SAFETY: the task has not ended, so it is entered, and its executor waits for it.
        unsafe { (*room::head_of::<Home>(self.get())).0 }
    }
}

impl Register {
    pub(super) fn new() -> Self {
        Self(Room::default())
    }

    /// Enters a task of the executor `home`, whose register this is.
    ///
    /// # Safety
    /// The caller is the task's runner. The task has this entry, and is not in any register yet.
    #[inline]
    pub(super) unsafe fn enter(&self, task: NonNull<()>, entry: &Entry, home: *const LocalState) {
        // SAFETY: the register stays on its thread, which is the owner of the room.
        let place = unsafe { self.0.enter(task, Home(home)) };
        // SAFETY: the task has not been idle yet, so no other thread reads it.
        entry.0.with_mut(|entry| unsafe { *entry = place });
    }

    /// Strikes a task off.
    ///
    /// # Safety
    /// The task is in this register, and its future is gone.
    #[inline]
    pub(super) unsafe fn strike_off(&self, entry: &Entry) {
        // SAFETY: by this function's contract, and as for `enter`.
        unsafe { self.0.give_back(entry.get(), true, put) };
    }

    /// Cancels all entered tasks, and passes the runnables of those that are idle to `each`.
    pub(super) fn cancel_all(&self, mut each: impl FnMut(Runnable)) {
        self.0.each_used(|task, _, _| {
            // SAFETY: an entry in use means that its future still exists, and that it has an
            // `Entry`. Only this thread drops the future.
            if let Some(runnable) = unsafe { Runnable::raw_abort(task) } {
                each(runnable);
            }
        });
    }
}
