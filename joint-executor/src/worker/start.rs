//! How a task of an executor starts on its spawner's stack: its first poll, before any queue knows
//! the task.
//!
//! | the task, after that poll | then |
//! |---|---|
//! | has ended | nobody has to be told, because the spawner does not have the handle yet |
//! | waits | it is entered in the registry (`schedule.rs`), and its first waker queues it |
//! | is woken already, which includes an operation that the budget has refused | it is queued, and announced at once: the spawner's poll may go on for any time |
//!
//! The poll is a part of the spawner's run, and not a run of the worker: a worker that starts many
//! tasks in one poll makes no progress with its queues, and the other workers must see that.

use alloc::sync::Arc;
use core::{cell::RefCell, ptr};

use super::{
    current::{stranger, stranger_by},
    launch::{introduce, launch, place},
    run::watched,
    shared::{EntryLink, Runnable, Shared},
    state::Running,
};
use crate::{
    policy::MOST_NESTED,
    registry::Lane,
    who::{self, Starter},
};
use joint::task::Polled;

/// Polls a new task on this stack. Launches it as any other if only another worker may run it, if
/// the executor is closed, if too many starts are nested, or if the hook for it says so. `worker`
/// is the worker of the executor that this thread is, if it is one. If not, `entered` is the
/// executor.
#[inline]
pub(crate) fn start<E>(
    shared: &Arc<Shared>,
    worker: Option<&Running<'_>>,
    entered: *const E,
    runnable: Runnable,
    lane: Lane,
) {
    let is_elsewhere = match lane {
        Lane::Normal | Lane::High => false,
        Lane::Pinned(index) => worker.is_none_or(|worker| worker.index() != index),
    };
    // No poll begins in a closed executor.
    if is_elsewhere || shared.is_closed() {
        return launch(shared, worker, runnable, lane);
    }
    introduce(shared, worker, &runnable, lane);
    let starter = match worker {
        Some(_) => Starter::Worker,
        None => Starter::Other {
            entered: entered.cast(),
            shared: ptr::from_ref(shared).cast(),
        },
    };
    let id = shared.hooks.start.is_some().then(|| runnable.id());
    let mut new = Some(runnable);
    let mut start = || {
        let polled = who::as_started(MOST_NESTED, starter, || {
            new.take().map(|runnable| poll(shared, runnable))
        });
        if let Some(polled) = polled.flatten() {
            settle(shared, worker, polled);
        }
    };
    match (&shared.hooks.start, id) {
        (Some(hook), Some(id)) => stranger(|| hook(id, &mut start)),
        _ => start(),
    }
    if let Some(runnable) = new {
        place(shared, worker, runnable, lane, |worker, new| {
            worker.push_new(new, lane)
        });
    }
}

impl Running<'_> {
    /// Starts a task of the normal lane, as [`start`] does.
    #[inline]
    pub(crate) fn start(&self, runnable: Runnable) {
        let entered: *const () = ptr::null();
        start(self.shared(), Some(self), entered, runnable, Lane::Normal);
    }
}

#[inline]
fn poll(shared: &Shared, runnable: Runnable) -> Polled<EntryLink> {
    match shared.hooks.watch_polls() {
        false => runnable.poll(),
        true => poll_watched(shared, runnable),
    }
}

#[cold]
fn poll_watched(shared: &Shared, runnable: Runnable) -> Polled<EntryLink> {
    let name = RefCell::default();
    let mut polled = Polled::Pending;
    let settle = &mut |now| polled = now;
    let (hooks, poll) = (&shared.hooks, &Runnable::poll);
    watched(hooks, &name, runnable, &stranger_by, poll, settle);
    polled
}

/// Does what the first poll has left to do.
#[inline]
fn settle(shared: &Arc<Shared>, worker: Option<&Running<'_>>, polled: Polled<EntryLink>) {
    match polled {
        Polled::Pending | Polled::Ended(None) => {}
        Polled::Woken(runnable) => {
            let lane = runnable.metadata().lane();
            place(shared, worker, runnable, lane, |worker, woken| {
                worker.queue_new(woken, lane)
            });
        }
        Polled::Ended(Some(waiter)) => stranger(|| waiter.wake()),
    }
}
