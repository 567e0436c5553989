//! [`Runnable`]: the right to run a task once.

use core::{fmt, ptr::NonNull, task::Waker};

use joint::task as base;

use crate::Metadata;

/// A task that is due to run. Dropping it without running it cancels the task.
///
/// ```
/// let (runnable, task) = async_task::spawn(async { 5 }, |_| {});
/// runnable.run();
/// assert_eq!(joint::block_on(task), 5);
/// ```
pub struct Runnable<M = ()>(pub(crate) base::Runnable<Metadata<M>>);

impl<M> Runnable<M> {
    /// Returns the metadata that the task was made with.
    pub fn metadata(&self) -> &M {
        &self.0.metadata().user
    }

    /// Gives the runnable to the schedule function.
    pub fn schedule(self) {
        self.0.schedule();
    }

    /// Polls the future once, or drops it if the task has been cancelled. Returns true if the task
    /// was woken meanwhile and has been scheduled again.
    ///
    /// # Panics
    /// If the future panics, with the same panic, unless the task was built with
    /// [`propagate_panic`](crate::Builder::propagate_panic).
    pub fn run(self) -> bool {
        self.0.run()
    }

    /// Returns a waker of the task.
    pub fn waker(&self) -> Waker {
        self.0.waker()
    }

    /// Returns the runnable as an address. The task is leaked unless
    /// [`from_raw`](Runnable::from_raw) gets the address back.
    pub fn into_raw(self) -> NonNull<()> {
        self.0.into_raw()
    }

    /// Returns the runnable of an address.
    ///
    /// # Safety
    /// `ptr` must come from [`into_raw`](Runnable::into_raw) of a runnable with the same `M`, which
    /// was called once for each call of this.
    pub unsafe fn from_raw(ptr: NonNull<()>) -> Self {
        // SAFETY: by this function's contract. The runnable inside has the same address.
        Self(unsafe { base::Runnable::from_raw(ptr) })
    }
}

impl<M: fmt::Debug> fmt::Debug for Runnable<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable")
            .field("task", &self.0)
            .field("metadata", self.metadata())
            .finish()
    }
}
