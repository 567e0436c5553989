//! [`AbortHandle`]: cancels a task whose handle is elsewhere.

use core::{
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
};

use super::{JoinHandle, TaskView, header::Held};

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
    pub(super) fn view(&self) -> TaskView<'_> {
        self.0.view()
    }

    /// Cancels the task without waiting for it, as [`JoinHandle::abort`] does.
    pub fn abort(&self) {
        if !self.is_finished() {
            self.view().abort();
        }
    }

    /// Returns whether the task has ended. Once an abort handle of the task has returned true, all
    /// of them do. This orders nothing.
    pub fn is_finished(&self) -> bool {
        self.view().has_ended()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        Self(self.view().reference())
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().debug("AbortHandle", f)
    }
}

impl<T, M> JoinHandle<T, M> {
    /// Returns a handle that can cancel the task, and nothing else.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.view().reference())
    }
}
