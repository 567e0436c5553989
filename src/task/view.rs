//! [`PendingTask`] and [`EndedTask`]: what a task's [`Schedule`](super::Schedule) sees of it at the
//! end of a poll; [`TaskView`]: what a report sees of it; and [`TaskEnd`].

#[cfg(feature = "alloc")]
use core::any::Any;
use core::{fmt, marker::PhantomData, panic::Location, ptr::NonNull, task::Waker};

#[cfg(feature = "alloc")]
use super::Id;
use super::{header::Task, state::Snapshot};
use crate::completion::Completion;

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
    #[cfg(feature = "alloc")]
    pub fn id(&self) -> Id {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { Id::of(self.task) }
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
    pub(super) panic_message: Option<&'a str>,
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

    /// Looks at the task.
    pub fn view(&self) -> TaskView<'_> {
        TaskView {
            task: self.task,
            lifetime: PhantomData,
        }
    }

    /// Returns a waker of the task. It wakes nothing any more, but keeps the task's memory.
    pub fn waker(&self) -> Waker {
        // SAFETY: as for `name`.
        unsafe { self.task.new_waker() }
    }

    /// Returns the identity of the task.
    #[cfg(feature = "alloc")]
    pub fn id(&self) -> Id {
        // SAFETY: the runner, which lends this value, keeps the task alive.
        unsafe { Id::of(self.task) }
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

    /// Returns the message of the panic with which the task ends, if it has one, as a panic by
    /// `panic!` does. If the task has no handle, nobody but the schedule function learns of it.
    ///
    /// # Example
    /// ```
    /// use joint::task::{Builder, EndedTask, Runnable, Schedule, ScheduleInfo, TaskEnd};
    ///
    /// #[derive(Clone, Copy)]
    /// struct Once;
    /// impl Schedule<()> for Once {
    ///     fn schedule(&self, _: Runnable, _: ScheduleInfo) {}
    ///     fn ended(&self, task: &EndedTask<'_, ()>, how: TaskEnd) {
    ///         assert_eq!(how, TaskEnd::Panicked);
    ///         assert_eq!(task.panic_message(), Some("no such file"));
    ///     }
    /// }
    /// let (runnable, handle) = Builder::new().spawn(|()| async { panic!("no such file") }, Once);
    /// handle.detach();
    /// runnable.run();
    /// ```
    pub fn panic_message(&self) -> Option<&str> {
        self.panic_message
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

/// A task, seen from outside. See [`Runnable::raw_view`](super::Runnable::raw_view).
#[derive(Clone, Copy)]
pub struct TaskView<'a> {
    pub(super) task: Task,
    pub(super) lifetime: PhantomData<&'a ()>,
}

impl<'a> TaskView<'a> {
    /// Returns the identity of the task.
    #[cfg(feature = "alloc")]
    pub fn id(&self) -> Id {
        // SAFETY: the task is alive as long as the view is used.
        unsafe { Id::of(self.task) }
    }

    /// Returns the value that was [attached](super::Runnable::attach) to the task.
    ///
    /// # Cost
    /// Two loads.
    #[cfg(feature = "alloc")]
    pub fn data(&self) -> Option<&'a (dyn Any + Send + Sync)> {
        // SAFETY: as for `id`.
        unsafe { self.task.origin() }.data()
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&'a str> {
        // SAFETY: the task is alive as long as the view is used.
        unsafe { self.task.name() }
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        // SAFETY: as for `name`.
        unsafe { self.task.spawned() }
    }

    /// Returns whether the task is queued or running, or has ended. Otherwise it waits to be woken.
    pub fn is_runnable(&self) -> bool {
        // SAFETY: as for `name`.
        unsafe { self.task.state() }.snapshot().is_runnable()
    }

    /// Returns how many wakers of the task exist. If a task that waits has none, it will never be
    /// polled again, unless it is cancelled.
    pub fn wakers(&self) -> usize {
        // SAFETY: as for `name`.
        unsafe { self.task.state() }.snapshot().wakers()
    }

    /// Returns the address of the object that the end of the task will wake, or `None` if nobody
    /// waits for that end.
    ///
    /// For a task that awaits the handle, this is [its address](super::Runnable::as_ptr). For
    /// another object that starts with a [`Header`](crate::waker::Header), it is the address of
    /// that. For both, it is also the [data](Waker::data) of their wakers. For any other waker it
    /// is odd, and says nothing. A waiter that comes just as the task ends is shown until its poll
    /// has found the end.
    ///
    /// # Cost
    /// One load.
    pub fn waiter(&self) -> Option<usize> {
        // SAFETY: the task is alive as long as the view is used, and the word with it.
        unsafe { Completion::raw_registered(self.task.join()) }
    }
}

impl fmt::Debug for TaskView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the task is alive as long as the view is used.
        unsafe { self.task.fmt("TaskView", f) }
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
