//! The waits of tasks for oneshots, since [`note_wait`] is part of a thread's host.

use alloc::{sync::Arc, task::Wake, vec::Vec};
use core::task::Waker;
use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use joint::task::{Id, try_id};

/// A wait for a oneshot, with the task that has polled it.
struct Note {
    task: Id,
    what: &'static str,
    waker: Waker,
}

/// The key of a note, as the waker that is registered. The note is taken back when that waker is
/// woken or dropped.
struct Key(u64);

/// The next key, which no note had before, and all notes.
static NOTES: LazyLock<Mutex<(u64, HashMap<u64, Note>)>> = LazyLock::new(Mutex::default);

fn notes() -> MutexGuard<'static, (u64, HashMap<u64, Note>)> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes the wait of a task for a oneshot, until it is woken or dropped, for the
/// [dump](crate::hosted::BoundWorker::dump) of an owner who chooses the tasks. That owner makes it
/// the [`on_wait`](joint::host::Host::on_wait) of its thread's host. A worker of an executor that
/// [records](crate::Builder::record_times) does that itself.
pub fn note_wait(waker: Waker, what: &'static str) -> Waker {
    let Some(task) = try_id() else { return waker };
    let (next, all) = &mut *notes();
    all.insert(*next, Note { task, what, waker });
    *next += 1;
    Arc::new(Key(*next - 1)).into()
}

/// Calls `f` with each wait: its task, what it waits for, and the [data](Waker::data) of the poll's
/// waker, in the order of the waits. `f` must not wake or drop a waker.
pub(super) fn each(mut f: impl FnMut(Id, &'static str, usize)) {
    let (_, all) = &*notes();
    let mut keys: Vec<_> = all.keys().copied().collect();
    keys.sort_unstable();
    for key in keys {
        let Note { task, what, waker } = &all[&key];
        f(*task, what, waker.data().addr());
    }
}

impl Key {
    /// Takes the note back. The lock is free again when its waker is woken or dropped, because that
    /// is the user's code.
    fn take(&self) -> Option<Note> {
        notes().1.remove(&self.0)
    }
}

impl Wake for Key {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(note) = self.take() {
            note.waker.wake();
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let note = self.take();
        drop(note);
    }
}
