//! The waits of tasks for oneshots, since [`note_wait`] is part of a thread's host.

use alloc::{sync::Arc, task::Wake};
use core::task::Waker;
use std::sync::{Mutex, MutexGuard, PoisonError};

use joint::task::{Id, try_id};
use slab::Slab;

/// A wait for a oneshot, with the task that has polled it.
struct Note {
    task: Id,
    what: &'static str,
    waker: Waker,
}

/// The key of a note, as the waker that is registered. The note is taken back when that waker is
/// woken or dropped.
struct Key(usize);

/// All notes. The place of one that was taken back stays until its key is dropped.
static NOTES: Mutex<Slab<Option<Note>>> = Mutex::new(Slab::new());

fn notes() -> MutexGuard<'static, Slab<Option<Note>>> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes the wait of a task for a oneshot, until it is woken or dropped, for the
/// [dump](crate::hosted::BoundWorker::dump) of an owner who chooses the tasks. That owner makes it
/// the [`on_wait`](joint::host::Host::on_wait) of its thread's host. A worker of an executor that
/// [records](crate::Builder::record_times) does that itself.
pub fn note_wait(waker: Waker, what: &'static str) -> Waker {
    let Some(task) = try_id() else { return waker };
    let key = notes().insert(Some(Note { task, what, waker }));
    Arc::new(Key(key)).into()
}

/// Calls `f` with each wait: its task, what it waits for, and the [data](Waker::data) of the poll's
/// waker. `f` must not wake or drop a waker.
pub(super) fn each(mut f: impl FnMut(Id, &'static str, usize)) {
    for (_, note) in &*notes() {
        if let Some(Note { task, what, waker }) = note {
            f(*task, what, waker.data().addr());
        }
    }
}

impl Wake for Key {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The lock is free again when the waker is woken or dropped, because that is the user's
        // code.
        let note = notes()[self.0].take();
        if let Some(note) = note {
            note.waker.wake();
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let note = notes().remove(self.0);
        drop(note);
    }
}
