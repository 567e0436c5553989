//! [`Pending`] and [`Ended`]: views of a task that its runner lends to the executor.

#[cfg(feature = "std")]
use core::{panic::Location, ptr::NonNull};

#[cfg(feature = "std")]
use super::Id;
use super::{header::Task, state::Snapshot};

/// A task at the end of a pending run, which its runner still owns.
#[allow(missing_debug_implementations, reason = "for this crate's executor")]
#[cfg_attr(
    not(feature = "std"),
    expect(dead_code, reason = "the executor looks into it")
)]
pub struct Pending<'a, M> {
    pub(super) task: Task,
    pub(super) seen: Snapshot,
    pub(super) metadata: &'a M,
}

#[cfg(feature = "std")]
impl<M> Pending<'_, M> {
    /// Returns whether the task was woken since the run began, and so will be run again.
    #[inline]
    pub(crate) fn is_woken(&self) -> bool {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { self.task.state() }.is_woken_since(self.seen)
    }

    #[inline]
    pub(crate) fn metadata(&self) -> &M {
        self.metadata
    }

    /// Returns the task's address, as [`Runnable::into_raw`](super::Runnable::into_raw) does.
    pub(crate) fn as_ptr(&self) -> NonNull<()> {
        self.task.as_ptr()
    }
}

/// A task whose future has been dropped, which its runner still owns.
#[allow(missing_debug_implementations, reason = "for this crate's executor")]
#[cfg_attr(
    not(feature = "std"),
    expect(dead_code, reason = "the executor looks into it")
)]
pub struct Ended<'a, M> {
    pub(super) task: Task,
    pub(super) metadata: &'a M,
}

#[cfg(feature = "std")]
impl<M> Ended<'_, M> {
    #[inline]
    pub(crate) fn metadata(&self) -> &M {
        self.metadata
    }

    pub(crate) fn id(&self) -> Id {
        Id::of(self.task)
    }

    pub(crate) fn name(&self) -> Option<&str> {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { self.task.name() }
    }

    pub(crate) fn spawned(&self) -> &'static Location<'static> {
        // SAFETY: as above.
        unsafe { self.task.spawned() }
    }
}
