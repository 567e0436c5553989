//! [`Runnable`]: the right and the duty to run a task once.

use core::{
    fmt,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
    task::Waker,
};

use super::{
    Id, Link, ScheduleInfo,
    header::{OnAgain, Ran, Task},
};
use crate::waker::ThinWaker;

/// A task that is due to be run. One word.
///
/// There is at most one at a time. It is made by [`spawn`](super::spawn), and given to the schedule function each time that
/// the task is woken. Run it, or keep it in a queue until you do.
///
/// # Dropping
/// A runnable that is dropped without being run cancels its task: the future is dropped on this thread, and whoever waits for
/// the task learns that it was [cancelled](super::JoinError::Cancelled).
///
/// # Example
/// A queue of runnables is all that an executor needs.
/// ```
/// use std::sync::mpsc;
/// use joint::task;
///
/// let (sender, queue) = mpsc::channel();
/// let (runnable, handle) = task::spawn(async { 6 * 7 }, move |runnable| sender.send(runnable).unwrap());
/// runnable.schedule();
/// while let Ok(runnable) = queue.try_recv() {
///     runnable.run();
/// }
/// assert_eq!(joint::block_on(handle), 42);
/// ```
#[must_use = "dropping a runnable cancels its task: `run` it, or `schedule` it"]
pub struct Runnable<M = ()> {
    task: Task,
    metadata: PhantomData<M>,
}

// SAFETY: `spawn` asks for a future, an output and a schedule function that may be sent. The metadata is reached by reference
// from several threads, and dropped by any.
unsafe impl<M: Send + Sync> Send for Runnable<M> {}
// SAFETY: by reference it only makes wakers, and gives out the metadata.
unsafe impl<M: Send + Sync> Sync for Runnable<M> {}

impl<M> Unpin for Runnable<M> {}
impl<M> UnwindSafe for Runnable<M> {}
impl<M> RefUnwindSafe for Runnable<M> {}

impl<M> Runnable<M> {
    /// # Safety
    /// The caller has the one runnable of the task, and gives it to the new value.
    #[inline]
    pub(super) unsafe fn from_task(task: Task) -> Self {
        Self {
            task,
            metadata: PhantomData,
        }
    }

    /// Polls the task once, and wakes whoever waits for it when that ends it. True: it was woken while it ran, and the schedule
    /// function has been called again before this returned.
    ///
    /// # Cost
    /// One atomic read-modify-write, beside what the future does: to go idle, or to end in the join word. A task that ends
    /// detached, with no waker left, takes none.
    ///
    /// # Happens-before
    /// All that happened before a wake-up that caused this run, and in the runs before it, happens before the poll.
    ///
    /// # Panics
    /// A panic of the future becomes the task's result, or passes through, as
    /// [`Builder::propagate_panic`](super::Builder::propagate_panic) says. What the schedule function and the waker of the one who waits do is
    /// theirs: their panics pass through, and leave the task whole.
    #[inline]
    pub fn run(self) -> bool {
        // SAFETY: the runnable is given up: it is not dropped.
        match unsafe { ManuallyDrop::new(self).task.run(OnAgain::Schedule) } {
            Ran::Idle => false,
            Ran::Again => true,
            Ran::Ended(waiter) => {
                if let Some(waiter) = waiter {
                    waiter.wake();
                }
                false
            }
        }
    }

    /// As [`run`](Runnable::run), for an executor that queues the runnable itself when the task was woken while it ran, and
    /// that wants to know whom to wake when the task has ended.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn run_in_executor(self) -> (Option<Self>, Option<ThinWaker>) {
        let task = ManuallyDrop::new(self).task;
        // SAFETY: the runnable is given up: it is not dropped.
        match unsafe { task.run(OnAgain::Leave) } {
            Ran::Idle => (None, None),
            // SAFETY: woken again, so there is a runnable, which nobody has.
            Ran::Again => (Some(unsafe { Self::from_task(task) }), None),
            Ran::Ended(waiter) => (None, waiter),
        }
    }

    /// Cancels a task that is kept by its address while nobody has its runnable. Comes back with the runnable if that makes one.
    ///
    /// # Safety
    /// `raw` is the address of a task whose metadata is an `M`, and whose future is not dropped during the call.
    #[cfg(feature = "std")]
    pub(crate) unsafe fn abort_raw(raw: NonNull<()>) -> Option<Self> {
        let task = Task::from_ptr(raw);
        // SAFETY: a task is alive as long as its future is there.
        match unsafe { task.state() }.abort() {
            // SAFETY: the state word has said that there is a runnable, which nobody has.
            super::state::OnWake::Schedule => Some(unsafe { Self::from_task(task) }),
            super::state::OnWake::Nothing => None,
        }
    }

    /// Gives the runnable to the schedule function.
    #[inline]
    pub fn schedule(self) {
        // SAFETY: the runnable is given up: it is not dropped.
        unsafe {
            ManuallyDrop::new(self)
                .task
                .schedule_held(ScheduleInfo::WOKEN)
        };
    }

    /// The metadata that the task was made with.
    #[inline]
    pub fn metadata(&self) -> &M {
        // SAFETY: the runnable keeps the task alive, and its metadata is an `M`.
        unsafe { self.task.metadata() }
    }

    /// A word for the queue that this runnable is kept in.
    #[inline]
    pub fn link(&self) -> &Link {
        // SAFETY: the runnable keeps the task alive.
        unsafe { self.task.link() }
    }

    /// The word for the queue, of a runnable that is kept as an address.
    ///
    /// # Safety
    /// `raw` came from [`into_raw`](Runnable::into_raw), and is not turned into a runnable for as long as the reference is used.
    #[inline]
    pub unsafe fn raw_link<'a>(raw: NonNull<()>) -> &'a Link {
        // SAFETY: the runnable that the address stands for keeps the task alive.
        unsafe { Task::from_ptr(raw).link() }
    }

    /// What tells this task from others.
    pub fn id(&self) -> Id {
        Id::of(self.task)
    }

    /// The task's address, as [`into_raw`](Runnable::into_raw) gives it.
    #[cfg(feature = "std")]
    pub(crate) fn as_ptr(&self) -> NonNull<()> {
        self.task.as_ptr()
    }

    /// The task's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        // SAFETY: the runnable keeps the task alive.
        unsafe { self.task.name() }
    }

    /// Where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        // SAFETY: the runnable keeps the task alive.
        unsafe { self.task.spawned() }
    }

    /// A waker of the task. There may be 2^27 at a time: one more, made here or by a clone, [ends
    /// the program](super#limits).
    pub fn waker(&self) -> Waker {
        // SAFETY: the runnable keeps the task alive.
        unsafe { self.task.state() }.add_waker();
        // SAFETY: a task's header, whose functions follow the contract; the reference was just added.
        unsafe { ThinWaker::waker_of_header(self.task.as_ptr().cast()) }
    }

    /// The task's address, for a queue that keeps words. Give it back to [`from_raw`](Runnable::from_raw): dropping the address
    /// leaks the task, and leaves those who wait for it waiting.
    pub fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).task.as_ptr()
    }

    /// The runnable of a task's address.
    ///
    /// # Safety
    /// `raw` came from [`into_raw`](Runnable::into_raw) of a runnable with the same `M`, which was called once for each call of this.
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self {
            task: Task::from_ptr(raw),
            metadata: PhantomData,
        }
    }
}

impl<M> Drop for Runnable<M> {
    fn drop(&mut self) {
        // SAFETY: the runnable is given up with `self`.
        if let Some(waiter) = unsafe { self.task.cancel() } {
            waiter.wake();
        }
    }
}

impl<M> fmt::Debug for Runnable<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the runnable keeps the task alive.
        unsafe { self.task.fmt("Runnable", f) }
    }
}
