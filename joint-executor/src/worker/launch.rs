//! How a task of an executor is made, and how it enters its first queue.

use alloc::sync::Arc;
use core::{future::Future, panic::Location};

use super::{
    end::dispose_spawned,
    schedule::{Scheduler, queue},
    shared::{Decides, EntryLink, Runnable, Shared},
    state::{Running, Spawns},
};
use crate::{registry::Lane, span::traced};
use joint::task::{Builder, JoinHandle};

#[inline]
pub(crate) fn builder(spawned: &'static Location<'static>) -> Builder<EntryLink> {
    Builder::new()
        .spawned_at(spawned)
        .metadata(EntryLink::new())
}

/// Makes a task of the normal lane, not yet queued.
#[inline]
pub(crate) fn new_task<T: Send + 'static>(
    spawned: &'static Location<'static>,
    future: impl Future<Output = T> + Send + 'static,
) -> (Runnable, JoinHandle<T>) {
    let future = traced(future, Lane::Normal.name(), None, spawned);
    let (runnable, handle) = builder(spawned).spawn(|_| future, Scheduler);
    (runnable, handle.without_metadata())
}

/// Makes a task of the normal lane that nobody joins, not yet queued.
#[inline]
pub(crate) fn new_detached(
    spawned: &'static Location<'static>,
    future: impl Future + Send + 'static,
) -> Runnable {
    let future = traced(future, Lane::Normal.name(), None, spawned);
    builder(spawned).spawn_detached(|_| future, Scheduler)
}

/// Pushes a new task into its first queue. `worker` is the worker of the executor that this thread
/// is, if it is one.
pub(crate) fn launch(
    shared: &Arc<Shared>,
    worker: Option<&Running<'_>>,
    runnable: Runnable,
    lane: Lane,
) {
    introduce(shared, worker, &runnable, lane);
    place(shared, worker, runnable, lane, |worker, new| {
        worker.push_new(new, lane)
    });
}

/// Counts a new task, and moves it to its lane.
#[inline]
pub(super) fn introduce(
    shared: &Shared,
    worker: Option<&Running<'_>>,
    runnable: &Runnable,
    lane: Lane,
) {
    match worker {
        Some(worker) => worker.counters().spawned.increment(),
        None => shared.outside.count_spawn(),
    }
    if shared.watches_tasks {
        shared.hooks.spawned(runnable);
    }
    if lane != Lane::Normal {
        runnable.metadata().set_lane(lane);
    }
}

/// Puts a task that no other thread knows where it runs next. `push` pushes it into a queue of this
/// worker, or into the inbox of the one that it is pinned to.
#[inline]
pub(super) fn place(
    shared: &Arc<Shared>,
    worker: Option<&Running<'_>>,
    runnable: Runnable,
    lane: Lane,
    push: impl FnOnce(&Running<'_>, Runnable),
) {
    let is_own = |worker: &&Running<'_>| lane == Lane::Pinned(worker.index());
    let is_new = !runnable.metadata().is_entered();
    if let Some(worker) = worker.filter(is_own).filter(|_| is_new) {
        // A local task may be dropped on this thread only, so the worker's end waits for it, and
        // finds it here even if it has never waited.
        // SAFETY: the task was in no queue yet, its runnable is here, and this is the worker. It is
        // in no registry.
        unsafe { worker.enter(runnable.as_ptr(), runnable.metadata()) };
    }
    match worker {
        // The drop of a future has spawned it, and may wait for it, while nobody but this worker
        // may be left. The future is the caller's own.
        Some(worker)
            if worker.spawns.get() == Spawns::Disposed && !matches!(lane, Lane::Pinned(_)) =>
        {
            dispose_spawned(shared, runnable);
        }
        Some(worker) => push(worker, runnable),
        // The future is the caller's own.
        None if shared.gate.is_terminated() => dispose_spawned(shared, runnable),
        None => shared.inject(runnable, lane),
    }
}

impl Running<'_> {
    /// Pushes a new task into its first queue.
    pub(super) fn push_new(&self, runnable: Runnable, lane: Lane) {
        match lane == Lane::Normal && self.shared().decides == Decides::Workers {
            true => self.push_spawned(runnable),
            false => self.queue_new(runnable, lane),
        }
    }

    /// Queues a new task. Not inlined, because the way of a wake-up inlines what this calls, as
    /// long as it has few callers: 22 instructions.
    #[inline(never)]
    pub(super) fn queue_new(&self, runnable: Runnable, lane: Lane) {
        queue(self, runnable, lane);
    }

    /// Pushes a new task of the normal lane into this worker's queue.
    #[inline]
    pub(crate) fn launch(&self, runnable: Runnable) {
        match self.spawns.get() {
            Spawns::Plain => {
                self.counters().spawned.increment();
                self.push_spawned(runnable);
            }
            Spawns::Watched | Spawns::Disposed => {
                launch(self.shared(), Some(self), runnable, Lane::Normal);
            }
        }
    }
}
