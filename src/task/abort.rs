//! [`AbortHandle`]: cancels a task whose handle is elsewhere.

use core::{
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
};

#[cfg(feature = "alloc")]
use super::Id;
use super::{
    JoinHandle, ScheduleInfo,
    header::{Held, Task},
    state::OnWake,
};

/// Cancels a task from anywhere, without its [`JoinHandle`]. Made by [`JoinHandle::abort_handle`].
///
/// Dropping it does nothing to the task. It keeps the task's [memory](super#memory), though not its
/// future, until it is dropped. Like a waker, it also keeps a detached task from being dropped when
/// nothing else could wake that task any more.
///
/// # Cost
/// One atomic read-modify-write each to make, clone and drop it.
///
/// # Example
/// ```
/// use joint::task;
///
/// let (runnable, handle) = task::spawn(async { 1 }, |_| {});
/// let abort = handle.abort_handle();
/// abort.abort();
/// runnable.run();
/// assert!(abort.is_finished());
/// assert_eq!(joint::block_on(handle.fallible()), None);
/// ```
pub struct AbortHandle(Held);

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// # Safety
    /// The task is alive.
    unsafe fn of(task: Task) -> Self {
        // SAFETY: passed on from the caller.
        Self(unsafe { task.reference() })
    }

    /// Cancels the task without waiting for it, as [`JoinHandle::abort`] does.
    pub fn abort(&self) {
        if self.is_finished() {
            return;
        }
        // SAFETY: the reference keeps the task alive.
        if let OnWake::Schedule = unsafe { self.0.task().state() }.abort() {
            // SAFETY: the state word has said so, and the reference lives on across the call.
            unsafe { self.0.task().schedule(ScheduleInfo::WOKEN) }
        }
    }

    /// Returns whether the task has ended. Once an abort handle of the task has returned true, all
    /// of them do. This orders nothing.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the reference keeps the task alive.
        unsafe { self.0.task().has_ended() }
    }

    /// Returns the identity of the task.
    #[cfg(feature = "alloc")]
    pub fn id(&self) -> Id {
        // SAFETY: the reference keeps the task alive.
        unsafe { Id::of(self.0.task()) }
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        // SAFETY: the reference keeps the task alive.
        unsafe { Self::of(self.0.task()) }
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the reference keeps the task alive.
        unsafe { self.0.task().fmt("AbortHandle", f) }
    }
}

impl<T, M> JoinHandle<T, M> {
    /// Returns a handle that can cancel the task, and nothing else.
    pub fn abort_handle(&self) -> AbortHandle {
        // SAFETY: the handle keeps the task alive.
        unsafe { AbortHandle::of(self.as_task()) }
    }
}
