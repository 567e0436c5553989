//! [`Builder`] and the functions that spawn.

use core::sync::atomic::AtomicBool;

use joint::task as base;

#[cfg(feature = "std")]
use crate::future::Local;
use crate::{Metadata, Runnable, Schedule, Task, future::Cancellable, schedule::Adapter};

/// A task with metadata, or with panics that its awaiter gets.
///
/// ```
/// use async_task::Builder;
///
/// let (runnable, task) = Builder::new()
///     .metadata(7)
///     .spawn(|&n| async move { n + 1 }, |_| {});
/// assert_eq!(runnable.metadata(), &7);
/// runnable.run();
/// assert_eq!(joint::block_on(task), 8);
/// ```
#[derive(Debug)]
pub struct Builder<M> {
    metadata: M,
    propagate_panic: bool,
}

impl<M: Default> Default for Builder<M> {
    fn default() -> Self {
        Builder::new().metadata(M::default())
    }
}

impl Builder<()> {
    /// No metadata; panics pass through [`Runnable::run`].
    pub fn new() -> Self {
        Self {
            metadata: (),
            propagate_panic: false,
        }
    }

    /// Adds a value that lives in the task, and that the holders of its runnable and its handle can
    /// read.
    pub fn metadata<M>(self, metadata: M) -> Builder<M> {
        Builder {
            metadata,
            propagate_panic: self.propagate_panic,
        }
    }
}

impl<M> Builder<M> {
    /// Chooses where a panic of the future is reported. If `true`, the code that awaits the
    /// [`Task`] gets it. If `false`, which is the default, it passes through [`Runnable::run`].
    #[cfg(feature = "std")]
    pub fn propagate_panic(mut self, propagate_panic: bool) -> Self {
        self.propagate_panic = propagate_panic;
        self
    }

    /// Does the same as [`spawn`], with a future that is made from the metadata.
    ///
    /// Unlike [`joint::task::Builder::spawn`], and like upstream, this requires nothing of the
    /// metadata. See the README.
    #[track_caller]
    pub fn spawn<F, Fut, S>(self, future: F, schedule: S) -> (Runnable<M>, Task<Fut::Output, M>)
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
        S: Schedule<M> + Send + Sync + 'static,
    {
        // SAFETY: the future and the schedule function may be sent and shared, and may live
        // forever. A runnable and a handle may be sent only if the metadata may. A waker may always
        // be sent, and can drop the metadata. This is the hole in upstream's signature that the
        // README names.
        unsafe { self.spawn_unchecked(future, schedule) }
    }

    /// Does the same as [`spawn_local`], with a future that is made from the metadata.
    #[cfg(feature = "std")]
    #[track_caller]
    pub fn spawn_local<F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, Task<Fut::Output, M>)
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + 'static,
        Fut::Output: 'static,
        S: Schedule<M> + Send + Sync + 'static,
    {
        // SAFETY: as for `spawn`, except for the future, which checks its thread. If the output may
        // not be sent, only that thread and a handle that is not sent own it.
        unsafe { self.spawn_unchecked(move |metadata| Local::new(future(metadata)), schedule) }
    }

    /// Does the same as [`spawn_unchecked`], with a future that is made from the metadata and may
    /// borrow it.
    ///
    /// # Safety
    /// As for `spawn_unchecked`. In addition, metadata that may not be sent or shared has the same
    /// restrictions as the future.
    #[track_caller]
    pub unsafe fn spawn_unchecked<'a, F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, Task<Fut::Output, M>)
    where
        F: FnOnce(&'a M) -> Fut,
        Fut: Future + 'a,
        S: Schedule<M>,
        M: 'a,
    {
        let metadata = Metadata {
            user: self.metadata,
            cancelled: AtomicBool::new(false),
        };
        let builder = base::Builder::new()
            .metadata(metadata)
            .propagate_panic(self.propagate_panic);
        let future = |metadata: &'a Metadata<M>| {
            Cancellable::new(future(&metadata.user), &metadata.cancelled)
        };
        // SAFETY: by this function's contract.
        let (runnable, handle) = unsafe { builder.spawn_unchecked(future, Adapter(schedule)) };
        (Runnable(runnable), Task::new(handle))
    }
}

/// Makes a task of a future. `schedule` is called with its runnable each time that it is woken.
#[track_caller]
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Schedule + Send + Sync + 'static,
{
    Builder::new().spawn(|()| future, schedule)
}

/// Makes a task of a future that must stay on this thread.
///
/// # Panics
/// [`Runnable::run`] panics on another thread.
#[cfg(feature = "std")]
#[track_caller]
pub fn spawn_local<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
    S: Schedule + Send + Sync + 'static,
{
    Builder::new().spawn_local(|()| future, schedule)
}

/// Makes a task of any future and any schedule function.
///
/// # Safety
/// * If the future is not `Send`, its runnables are run and dropped on this thread alone.
/// * If the future borrows, what it borrows stays until the task has ended and its output has been
///   dropped or taken out. If the schedule function borrows, until everything of the task is gone:
///   the runnable, the handle and all wakers.
/// * If the schedule function is not `Send` and `Sync`, wakers are used and dropped on this thread
///   alone, and so is the handle.
#[track_caller]
pub unsafe fn spawn_unchecked<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future,
    S: Schedule,
{
    // SAFETY: passed on from the caller.
    unsafe { Builder::new().spawn_unchecked(|()| future, schedule) }
}
