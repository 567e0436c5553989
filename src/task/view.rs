//! [`TaskView`]: a task that is alive; [`PendingTask`] and [`EndedTask`]: what its
//! [`Schedule`](super::Schedule) sees of it at the end of a poll; and [`TaskEnd`].

use core::{marker::PhantomData, ops::Deref, panic::Location, ptr::NonNull, task::Waker};

use super::{
    header::{Head, Task},
    state::Snapshot,
};

/// A task that is alive. What it says may be out of date as soon as it is said.
///
/// A [`PendingTask`] and an [`EndedTask`] are such views. For others see
/// [`Runnable::view`](super::Runnable::view) and [`Runnable::raw_view`](super::Runnable::raw_view).
pub struct TaskView<'a, M = ()> {
    pub(super) task: Task,
    pub(super) alive: PhantomData<&'a M>,
}

impl<M> Clone for TaskView<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for TaskView<'_, M> {}

impl<'a, M> TaskView<'a, M> {
    /// Returns the metadata that the task was made with.
    #[inline]
    pub fn metadata(&self) -> &'a M {
        let head = self.task.0.cast::<Head<M>>();
        // SAFETY: the task is alive, and its metadata is an `M`, which follows the header.
        unsafe { &(*head.as_ptr()).metadata }
    }

    /// Returns the task's address, for [`Runnable::raw_abort`](super::Runnable::raw_abort) and
    /// [`Runnable::raw_view`](super::Runnable::raw_view). It owns nothing.
    #[inline]
    pub fn as_ptr(&self) -> NonNull<()> {
        self.task.0.cast()
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&'a str> {
        // SAFETY: the task is alive.
        let name = unsafe { (self.vtable().name)(self.task) }?;
        // SAFETY: the name lives as long as the task.
        Some(unsafe { name.as_ref() })
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        self.header().origin.spawned()
    }

    /// Returns whether the task has a handle, which learns how it ends. A handle may be dropped
    /// right after this call.
    pub fn has_handle(&self) -> bool {
        self.header().state.snapshot().has_handle()
    }

    /// Returns whether the task is queued or running, or has ended. Otherwise it waits to be woken.
    pub fn is_runnable(&self) -> bool {
        self.header().state.snapshot().wakes() > 0
    }

    /// Returns how many wakers of the task exist. If a task that waits has none, it will never be
    /// polled again, unless it is cancelled.
    pub fn wakers(&self) -> usize {
        self.header().state.snapshot().refs() as usize
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
        self.header().join.registered()
    }
}

/// A task whose poll was pending, at the end of that run. See
/// [`Schedule::pending`](super::Schedule::pending).
pub struct PendingTask<'a, M> {
    pub(super) view: TaskView<'a, M>,
    pub(super) seen: Snapshot,
}

impl<M> PendingTask<'_, M> {
    /// Returns whether the task was woken since the run began, and so will be run again. A task
    /// that was not may be woken right after this call.
    #[inline]
    pub fn is_woken(&self) -> bool {
        // No other memory is read because of it, and the end of the run checks again.
        self.header().state.snapshot().wakes() != self.seen.wakes()
    }
}

impl<'a, M> Deref for PendingTask<'a, M> {
    type Target = TaskView<'a, M>;

    #[inline]
    fn deref(&self) -> &TaskView<'a, M> {
        &self.view
    }
}

/// A task whose future has been dropped, and which is about to end. See
/// [`Schedule::ended`](super::Schedule::ended).
pub struct EndedTask<'a, M> {
    pub(super) view: TaskView<'a, M>,
    pub(super) panic_message: Option<&'a str>,
}

impl<M> EndedTask<'_, M> {
    /// Returns a waker of the task. It wakes nothing any more, but keeps the task's memory.
    pub fn waker(&self) -> Waker {
        self.new_waker()
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
}

impl<'a, M> Deref for EndedTask<'a, M> {
    type Target = TaskView<'a, M>;

    #[inline]
    fn deref(&self) -> &TaskView<'a, M> {
        &self.view
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
