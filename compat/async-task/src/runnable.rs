//! [`Runnable`]: the right to run a task once.

use core::{fmt, ptr::NonNull, task::Waker};

use joint::task as base;

use crate::Metadata;

/// A task that is due to be run. Dropped without being run, it cancels the task.
///
/// ```
/// let (runnable, task) = async_task::spawn(async { 5 }, |_| {});
/// runnable.run();
/// assert_eq!(joint::block_on(task), 5);
/// ```
pub struct Runnable<M = ()>(pub(crate) base::Runnable<Metadata<M>>);

impl<M> Runnable<M> {
    /// The metadata that the task was made with.
    pub fn metadata(&self) -> &M {
        &self.0.metadata().user
    }

    /// Gives the runnable to the schedule function.
    pub fn schedule(self) {
        self.0.schedule();
    }

    /// Polls the future once; drops it instead if the task has been cancelled. True: it was woken
    /// meanwhile, and has been scheduled again.
    ///
    /// # Panics
    /// With the panic of the future, unless the task was built with
    /// [`propagate_panic`](crate::Builder::propagate_panic).
    pub fn run(self) -> bool {
        self.0.run()
    }

    /// A waker of the task.
    pub fn waker(&self) -> Waker {
        self.0.waker()
    }

    /// The runnable as an address. It has to come back through [`from_raw`](Runnable::from_raw), or
    /// the task is leaked.
    pub fn into_raw(self) -> NonNull<()> {
        self.0.into_raw()
    }

    /// The runnable of an address.
    ///
    /// # Safety
    /// `ptr` came from [`into_raw`](Runnable::into_raw) of a runnable with the same `M`, which was
    /// called once for each call of this.
    pub unsafe fn from_raw(ptr: NonNull<()>) -> Self {
        // SAFETY: passed on from the caller; the runnable inside has the same address.
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
