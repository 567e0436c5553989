//! [`PendingTask`] and [`EndedTask`]: what a task's [`Schedule`](super::Schedule) sees of it at the
//! end of a poll; and [`TaskEnd`].

use core::{fmt, panic::Location, ptr::NonNull, task::Waker};

use super::{Id, header::Task, state::Snapshot};

/// A task whose poll was pending, at the end of that run. See
/// [`Schedule::pending`](super::Schedule::pending).
pub struct PendingTask<'a, M> {
    pub(super) task: Task,
    pub(super) seen: Snapshot,
    pub(super) metadata: &'a M,
}

impl<M> PendingTask<'_, M> {
    /// Returns whether the task was woken since the run began, and so will be run again. A task
    /// that was not may be woken right after this call.
    #[inline]
    pub fn is_woken(&self) -> bool {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { self.task.state() }.is_woken_since(self.seen)
    }

    /// Returns the metadata that the task was made with.
    #[inline]
    pub fn metadata(&self) -> &M {
        self.metadata
    }

    /// Returns the task's address, for [`Runnable::raw_abort`](super::Runnable::raw_abort). It owns
    /// nothing.
    #[inline]
    pub fn as_ptr(&self) -> NonNull<()> {
        self.task.as_ptr()
    }

    /// Returns the identity of the task.
    pub fn id(&self) -> Id {
        Id::of(self.task)
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        // SAFETY: as for `is_woken`.
        unsafe { self.task.name() }
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        // SAFETY: as for `is_woken`.
        unsafe { self.task.spawned() }
    }
}

impl<M> fmt::Debug for PendingTask<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { self.task.fmt("PendingTask", f) }
    }
}

/// A task whose future has been dropped, and which is about to end. See
/// [`Schedule::ended`](super::Schedule::ended).
pub struct EndedTask<'a, M> {
    pub(super) task: Task,
    pub(super) metadata: &'a M,
}

impl<M> EndedTask<'_, M> {
    /// Returns the metadata that the task was made with.
    #[inline]
    pub fn metadata(&self) -> &M {
        self.metadata
    }

    /// Returns the task's address. [`Runnable::raw_abort`](super::Runnable::raw_abort) must not be
    /// called with it once [`Schedule::ended`](super::Schedule::ended) has returned, unless a waker
    /// of the task still exists.
    #[inline]
    pub fn as_ptr(&self) -> NonNull<()> {
        self.task.as_ptr()
    }

    /// Returns a waker of the task. It wakes nothing any more, but keeps the task's memory.
    pub fn waker(&self) -> Waker {
        // SAFETY: as for `name`.
        unsafe { self.task.new_waker() }
    }

    /// Returns the identity of the task.
    pub fn id(&self) -> Id {
        Id::of(self.task)
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { self.task.name() }
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        // SAFETY: as above.
        unsafe { self.task.spawned() }
    }

    /// Returns whether the task has a handle, which learns how it ends. A handle may be dropped
    /// right after this call.
    pub fn has_handle(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.task.state() }.snapshot().has_handle()
    }
}

impl<M> fmt::Debug for EndedTask<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { self.task.fmt("EndedTask", f) }
    }
}

/// How a task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// Its future was ready.
    Finished,
    /// Its future was dropped before it was ready.
    Cancelled,
    /// Its future panicked, in a poll or when it was dropped. If the panic passes through the run,
    /// as [`Builder::propagate_panic`](super::Builder::propagate_panic) may say, awaiting the task
    /// nevertheless reports that it was cancelled.
    Panicked,
}
