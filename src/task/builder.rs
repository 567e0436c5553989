//! [`Builder`]: a task with more than a future.

use alloc::borrow::Cow;
use core::{fmt, future::Future, panic::Location};

#[cfg(feature = "std")]
use super::local::Checked;
use super::{
    JoinHandle, Runnable, Schedule,
    cell::{self, Named, Settings, Unnamed},
    header::Task,
};

/// A task with metadata, with a name, or with panics that pass through the one who runs it.
///
/// The future is made by a function that gets the metadata, which may be borrowed where the future's type allows.
///
/// # Example
/// ```
/// use joint::task::Builder;
///
/// let (runnable, handle) = Builder::new()
///     .metadata(7u64)
///     .name("worker 7")
///     .spawn(|&priority| async move { priority + 1 }, |_| {});
/// assert_eq!(runnable.metadata(), &7);
/// runnable.run();
/// assert_eq!(joint::block_on(handle), 8);
/// ```
#[must_use = "nothing is made before `spawn`"]
pub struct Builder<M = (), N = Unnamed> {
    metadata: M,
    name: N,
    propagate_panic: bool,
    spawned: Option<&'static Location<'static>>,
}

impl Builder {
    /// No metadata, no name; panics go to whoever joins the task.
    pub const fn new() -> Self {
        Self {
            metadata: (),
            name: Unnamed,
            propagate_panic: true,
            spawned: None,
        }
    }

    /// A task that says that it was spawned somewhere else than where the builder is used.
    #[cfg(feature = "std")]
    pub(crate) const fn spawned_at(spawned: &'static Location<'static>) -> Self {
        let mut builder = Self::new();
        builder.spawned = Some(spawned);
        builder
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl<M, N> Builder<M, N> {
    /// A value that lives in the task, for whoever holds its runnable or its handle.
    ///
    /// It is dropped when the task's memory is given back: on whatever thread does that.
    pub fn metadata<T>(self, metadata: T) -> Builder<T, N> {
        Builder {
            metadata,
            name: self.name,
            propagate_panic: self.propagate_panic,
            spawned: self.spawned,
        }
    }

    /// A name, for errors and `Debug`. It takes room in this task alone.
    pub fn name(self, name: impl Into<Cow<'static, str>>) -> Builder<M, Named> {
        Builder {
            metadata: self.metadata,
            name: Named(name.into()),
            propagate_panic: self.propagate_panic,
            spawned: self.spawned,
        }
    }

    /// Where a panic of the future goes. `true`, as it is by default: to whoever joins the task. `false`: a
    /// panic of its poll goes through [`Runnable::run`] to whoever runs it; whoever joins the task learns that it was cancelled. A
    /// panic of its drop alone goes to whoever joins the task in any case.
    ///
    /// Without the feature `std` a panic cannot be caught, and ends the program.
    pub fn propagate_panic(mut self, propagate_panic: bool) -> Self {
        self.propagate_panic = propagate_panic;
        self
    }
}

impl<M, N: cell::Name> Builder<M, N> {
    /// As [`task::spawn`](super::spawn).
    ///
    /// Metadata is reached from every thread that has the runnable or the handle, and is dropped by any: what may not be sent
    /// and shared is refused.
    /// ```compile_fail,E0277
    /// use joint::task::Builder;
    ///
    /// let metadata = std::cell::Cell::new(7);
    /// let (runnable, handle) = Builder::new().metadata(metadata).spawn(|_| async {}, |_| {});
    /// ```
    #[track_caller]
    pub fn spawn<F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, JoinHandle<Fut::Output, M>)
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
        N: 'static,
    {
        // SAFETY: all of it may be sent and shared, and lives as long as it likes.
        unsafe { self.spawn_unchecked(future, schedule) }
    }

    /// As [`task::spawn_detached`](super::spawn_detached).
    #[track_caller]
    pub fn spawn_detached<F, Fut, S>(self, future: F, schedule: S) -> Runnable<M>
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + Send + 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
        N: 'static,
    {
        let task = self.allocate(false, future, schedule);
        // SAFETY: a fresh task has one runnable, and nobody has it yet.
        unsafe { Runnable::from_task(task) }
    }

    /// As [`task::spawn_local`](super::spawn_local).
    #[cfg(feature = "std")]
    #[track_caller]
    pub fn spawn_local<F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, JoinHandle<Fut::Output, M>)
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + 'static,
        Fut::Output: 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
        N: 'static,
    {
        let spawned = self.spawned.unwrap_or(Location::caller());
        let future = |metadata: &M| Checked::new(future(metadata), spawned);
        // SAFETY: the future checks on which thread it is. All else may be sent and shared, and lives as long as it likes; an
        // output that may not be sent is in the hands of the future's thread, which drops it, and of a handle that is not sent.
        unsafe { self.spawn_unchecked(future, schedule) }
    }

    /// As [`task::spawn_unchecked`](super::spawn_unchecked).
    ///
    /// # Safety
    /// As there. And
    /// * if the metadata is not `Send` and `Sync`, runnables, wakers and the handle are used and dropped on this thread alone;
    /// * if the output borrows the metadata, it is gone before the handle is.
    #[track_caller]
    pub unsafe fn spawn_unchecked<'a, F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, JoinHandle<Fut::Output, M>)
    where
        F: FnOnce(&'a M) -> Fut,
        Fut: Future + 'a,
        S: Schedule<M>,
        M: 'a,
    {
        let task = self.allocate(true, future, schedule);
        // SAFETY: a fresh task has one runnable, and nobody has it yet.
        let runnable = unsafe { Runnable::from_task(task) };
        // SAFETY: it was made with a handle, which nobody has yet, and its output is of that type.
        let handle = unsafe { JoinHandle::from_task(task) };
        (runnable, handle)
    }

    #[track_caller]
    fn allocate<'a, F, Fut, S>(self, has_handle: bool, future: F, schedule: S) -> Task
    where
        F: FnOnce(&'a M) -> Fut,
        Fut: Future + 'a,
        S: Schedule<M>,
        M: 'a,
    {
        let settings = Settings {
            spawned: self.spawned.unwrap_or(Location::caller()),
            has_handle,
            propagate_panic: self.propagate_panic,
        };
        cell::allocate(settings, self.metadata, self.name, future, schedule)
    }
}

impl<M: fmt::Debug, N: cell::Name> fmt::Debug for Builder<M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("metadata", &self.metadata)
            .field("name", &self.name.get())
            .field("propagate_panic", &self.propagate_panic)
            .finish()
    }
}
