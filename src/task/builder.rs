//! [`Builder`]: options for making a task.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::{future::Future, panic::Location};

#[cfg(feature = "alloc")]
use super::apart::{OutputApart, fill, is_large};
use super::{
    JoinHandle, Runnable, Schedule, Text, cell,
    header::Task,
    storage::{FreeSlot, Heap, Place},
};

/// Makes tasks with metadata, with a name, or whose panics pass through [`Runnable::run`].
///
/// The future is made by a function that takes the metadata by reference. The future may borrow the
/// metadata where its type allows it.
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
#[derive(Debug)]
#[must_use = "a builder does nothing until `spawn` is called"]
pub struct Builder<M = (), N = Unnamed, P = Heap> {
    pub(super) place: P,
    pub(super) metadata: M,
    pub(super) name: N,
    pub(super) settings: Settings,
}

/// The settings of a new task, apart from its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Where the task says that it was spawned, or `None` for the caller of `spawn`.
    pub(super) spawned: Option<&'static Location<'static>>,
    pub(super) propagate_panic: bool,
}

impl Builder {
    /// Creates a builder without metadata and without a name, whose tasks report panics to the join
    /// handle.
    pub const fn new() -> Self {
        Self {
            place: Heap,
            metadata: (),
            name: Unnamed,
            settings: Settings {
                spawned: None,
                propagate_panic: true,
            },
        }
    }
}

default_is_new!(Builder);

impl<M, N, P> Builder<M, N, P> {
    /// Puts the task into a slot that was [reserved](super::TaskPool::reserve), instead of onto the
    /// heap.
    pub fn slot<const SIZE: usize>(self, slot: FreeSlot<SIZE>) -> Builder<M, N, FreeSlot<SIZE>> {
        Builder {
            place: slot,
            metadata: self.metadata,
            name: self.name,
            settings: self.settings,
        }
    }

    /// Stores a value in the task, which its runnable and its handle give access to.
    ///
    /// The value is dropped when the task's memory is freed, on the thread that frees it.
    pub fn metadata<T>(self, metadata: T) -> Builder<T, N, P> {
        Builder {
            place: self.place,
            metadata,
            name: self.name,
            settings: self.settings,
        }
    }

    /// Gives the task a name, for errors and `Debug`. Tasks without a name have no field for it.
    pub fn name(self, name: impl Into<Text>) -> Builder<M, Named, P> {
        Builder {
            place: self.place,
            metadata: self.metadata,
            name: Named(name.into()),
            settings: self.settings,
        }
    }

    /// Sets whether a panic of the future's poll becomes the task's result. If `true`, which is the
    /// default, joining the task gives the panic. If `false`, the panic passes through
    /// [`Runnable::run`], and joining the task reports that it was cancelled. If only the future's
    /// drop panics, joining the task gives that panic in either case.
    ///
    /// Without the feature `std` a panic cannot be caught, and ends the program.
    pub fn propagate_panic(mut self, propagate_panic: bool) -> Self {
        self.settings.propagate_panic = propagate_panic;
        self
    }

    /// Sets the place that the task reports as where it was spawned. By default that is where the
    /// builder's `spawn` is called.
    ///
    /// For an executor whose own `spawn` does more than `#[track_caller]` reaches through, such as
    /// a closure.
    ///
    /// # Example
    /// ```
    /// use joint::task::Builder;
    /// use std::panic::Location;
    ///
    /// let here = Location::caller();
    /// let builder = Builder::new().spawned_at(here);
    /// let (runnable, _handle) = builder.spawn(|()| async {}, |_| {});
    /// assert_eq!(runnable.spawned(), here);
    /// ```
    #[inline]
    pub fn spawned_at(mut self, spawned: &'static Location<'static>) -> Self {
        self.settings.spawned = Some(spawned);
        self
    }
}

impl<M, N: Name, P: Place> Builder<M, N, P> {
    /// Makes a task of a future, as [`task::spawn`](super::spawn) does.
    ///
    /// Every thread that has the runnable or the handle can reach the metadata, and any of them may
    /// drop it. The metadata must therefore be `Send` and `Sync`:
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
        Fut: Future<Output: Send + 'static> + Send + 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
        N: 'static,
    {
        // SAFETY: by the bounds, everything may be sent and shared, and borrows nothing.
        unsafe { self.spawn_unchecked(future, schedule) }
    }

    /// Makes a task, and polls it once before this returns, as
    /// [`task::spawn_now`](super::spawn_now) does.
    ///
    /// # Panics
    /// If the poll panics, and [`propagate_panic`](Builder::propagate_panic) says that the panic
    /// passes through.
    #[track_caller]
    pub fn spawn_now<F, Fut, S>(self, future: F, schedule: S) -> JoinHandle<Fut::Output, M>
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future<Output: Send + 'static> + Send + 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
        N: 'static,
    {
        let (runnable, handle) = self.spawn(future, schedule);
        runnable.run();
        handle
    }

    /// Makes a task without a handle, as [`task::spawn_detached`](super::spawn_detached) does.
    #[track_caller]
    pub fn spawn_detached<F, Fut, S>(self, future: F, schedule: S) -> Runnable<M>
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + Send + 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
        N: 'static,
    {
        // SAFETY: by the bounds, everything may be sent and shared, and borrows nothing.
        unsafe { self.spawn_detached_unchecked(future, schedule) }
    }

    /// Makes a task of any future and any schedule function, as
    /// [`task::spawn_unchecked`](super::spawn_unchecked) does.
    ///
    /// # Safety
    /// As for [`task::spawn_unchecked`](super::spawn_unchecked). In addition:
    /// * If the metadata borrows, or is not `Send` and `Sync`, what the contract demands for the
    ///   schedule function holds for the metadata.
    /// * If the output borrows the metadata, the output is gone before the handle is.
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
        // SAFETY: a fresh task has one runnable, which no one else has yet.
        let runnable = unsafe { Runnable::from_task(task) };
        // SAFETY: the task was made with a handle, which no one else has yet, and its output is of
        // that type.
        let handle = unsafe { JoinHandle::from_task(task) };
        (runnable, handle)
    }

    /// Makes a task without a handle of any future and any schedule function.
    ///
    /// # Safety
    /// As for [`spawn_unchecked`](Builder::spawn_unchecked). The output is dropped by the run that
    /// ends the task.
    ///
    /// # Example
    /// ```
    /// use joint::task::Builder;
    /// use std::cell::Cell;
    ///
    /// let ran = Cell::new(false);
    /// let future = |_: &()| async { ran.set(true) };
    /// // SAFETY: the runnable stays on this thread, and is gone before `ran`.
    /// let runnable = unsafe { Builder::new().spawn_detached_unchecked(future, |_| {}) };
    /// runnable.run();
    /// assert!(ran.get());
    /// ```
    #[track_caller]
    pub unsafe fn spawn_detached_unchecked<'a, F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> Runnable<M>
    where
        F: FnOnce(&'a M) -> Fut,
        Fut: Future + 'a,
        S: Schedule<M>,
        M: 'a,
    {
        let task = self.allocate(false, future, schedule);
        // SAFETY: a fresh task has one runnable, which no one else has yet.
        unsafe { Runnable::from_task(task) }
    }

    #[inline(always)]
    #[track_caller]
    fn allocate<'a, Fut: Future + 'a, S: Schedule<M>>(
        self,
        has_handle: bool,
        future: impl FnOnce(&'a M) -> Fut,
        schedule: S,
    ) -> Task
    where
        M: 'a,
    {
        // Branches on constants, so that each type of a future gets one table and its functions.
        #[cfg(feature = "alloc")]
        if const { P::HAS_HEAP && is_large::<Fut>() && is_large::<Fut::Output>() } {
            let block = Box::new_uninit();
            let future = move |metadata| fill(block, OutputApart(future(metadata)));
            return cell::allocate(self, has_handle, future, schedule);
        } else if const { P::HAS_HEAP && is_large::<Fut>() } {
            let block = Box::new_uninit();
            let future = move |metadata| fill(block, future(metadata));
            return cell::allocate(self, has_handle, future, schedule);
        } else if const { P::HAS_HEAP && is_large::<Fut::Output>() } {
            let future = |metadata| OutputApart(future(metadata));
            return cell::allocate(self, has_handle, future, schedule);
        }
        cell::allocate(self, has_handle, future, schedule)
    }
}

/// The type of a task's name. No other crate can name it, so it is implemented here alone.
pub trait Name {
    /// Returns the name, if there is one.
    fn get(&self) -> Option<&str> {
        None
    }
}

/// The name of a task without a name.
#[derive(Clone, Copy, Debug)]
pub struct Unnamed;

/// The name of a task with a name.
#[derive(Clone, Debug)]
pub struct Named(pub(super) Text);

impl Name for Unnamed {}

impl Name for Named {
    fn get(&self) -> Option<&str> {
        Some(AsRef::as_ref(&self.0))
    }
}
