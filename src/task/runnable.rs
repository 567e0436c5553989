//! [`Runnable`]: the right and the duty to run a task once.

use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
    task::Waker,
};

use super::{
    Link, ScheduleInfo, TaskView,
    header::{OnAgain, Ran, Task},
};
use crate::waker::ThinWaker;

/// A task that is due to be run. It is one word in size.
///
/// A task has at most one runnable at a time. [`spawn`](super::spawn) returns the first one, and
/// the schedule function gets the next one whenever the task is woken. Run it, or queue it to be
/// run later.
///
/// # Dropping
/// Dropping a runnable without running it cancels its task. The future is dropped on this thread,
/// and awaiting the task reports that it was [cancelled](super::JoinError::Cancelled).
///
/// # Example
/// A queue of runnables is all that an executor needs.
/// ```
/// use std::sync::mpsc;
/// use joint::task;
///
/// let (sender, queue) = mpsc::channel();
/// let push = move |runnable| sender.send(runnable).unwrap();
/// let (runnable, handle) = task::spawn(async { 6 * 7 }, push);
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

// SAFETY: `spawn` requires a future, an output and a schedule function that may be sent. Several
// threads reach the metadata by reference, and any of them may drop it.
unsafe impl<M: Send + Sync> Send for Runnable<M> {}
// SAFETY: a reference to a runnable only makes wakers, and gives access to the metadata.
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

    /// Polls the task once, and wakes its waiter if that ends it. Returns whether the task was
    /// woken while it ran. In that case the schedule function has already been called with the next
    /// runnable.
    ///
    /// # Cost
    /// One atomic read-modify-write besides those of the future: either to become idle, or to
    /// complete the join word. A task that ends detached and with no waker left takes none, and so
    /// does a poll in which the task [wakes itself](super#a-task-that-wakes-itself), unless other
    /// threads wake it too.
    ///
    /// # Happens-before
    /// Everything before a wake-up that this run consumes, and everything in earlier runs, happens
    /// before the poll. For a runnable that came through a queue, the latter takes an edge by that
    /// queue, which sending a value to another thread always has.
    ///
    /// # Panics
    /// A panic of the future becomes the task's result, or passes through, as
    /// [`Builder::propagate_panic`](super::Builder::propagate_panic) says. Panics of the schedule
    /// function and of the waiter's waker pass through, and leave the task intact.
    #[inline]
    pub fn run(self) -> bool {
        let this = ManuallyDrop::new(self);
        // SAFETY: the runnable is given up: it is not dropped.
        match unsafe { (this.view().vtable().run)(this.task, OnAgain::Schedule) } {
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

    /// Polls the task once as [`run`](Runnable::run) does, but leaves to the caller what follows:
    /// to queue the task if it was woken meanwhile, and to wake its waiter if it has ended.
    ///
    /// For an executor whose worker puts the task into its own queue without calling the schedule
    /// function, and that decides itself when and how the waiter is woken.
    ///
    /// # Cost
    /// As for [`run`](Runnable::run).
    ///
    /// # Happens-before
    /// As for [`run`](Runnable::run).
    ///
    /// # Panics
    /// A panic of the future passes through if
    /// [`Builder::propagate_panic`](super::Builder::propagate_panic) says so. The waiter has been
    /// woken then.
    ///
    /// # Example
    /// ```
    /// use joint::task::{self, Polled};
    /// use std::{collections::VecDeque, future::poll_fn, mem::replace, task::Poll};
    ///
    /// let mut is_second = false;
    /// let yields_once = poll_fn(move |cx| {
    ///     if replace(&mut is_second, true) {
    ///         return Poll::Ready(());
    ///     }
    ///     cx.waker().wake_by_ref();
    ///     Poll::Pending
    /// });
    ///
    /// let never = |_| unreachable!("it is only woken while it runs");
    /// let (runnable, handle) = task::spawn(yields_once, never);
    /// let mut queue = VecDeque::from([runnable]);
    /// while let Some(runnable) = queue.pop_front() {
    ///     match runnable.poll() {
    ///         Polled::Pending => {}
    ///         Polled::Woken(runnable) => queue.push_back(runnable),
    ///         Polled::Ended(waiter) => waiter.into_iter().for_each(|waiter| waiter.wake()),
    ///     }
    /// }
    /// assert!(handle.is_finished());
    /// ```
    #[inline]
    pub fn poll(self) -> Polled<M> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the runnable is given up: it is not dropped.
        match unsafe { (this.view().vtable().run)(this.task, OnAgain::Leave) } {
            Ran::Idle => Polled::Pending,
            // SAFETY: the task was woken again, so there is a runnable, which no one else has.
            Ran::Again => Polled::Woken(unsafe { Self::from_task(this.task) }),
            Ran::Ended(waiter) => Polled::Ended(waiter),
        }
    }

    /// Requests the cancellation of a task by its address. Returns the runnable if the task was
    /// idle, so that nobody has its runnable: drop it, and the task is cancelled. Otherwise returns
    /// `None`: the holder of the runnable finds the request when it runs or drops it, and a poll
    /// that is under way finds it at its end. It calls no code of a user, so it may be called under
    /// a lock.
    ///
    /// For an executor that keeps the addresses of its tasks, to cancel them when it shuts down.
    /// The [guide](super#an-executor-that-can-be-shut-down) says how.
    ///
    /// # Safety
    /// * `raw` is the address of a task with metadata `M`, from [`as_ptr`](Runnable::as_ptr) of its
    ///   runnable or of a view of it.
    /// * The task has not ended: its call of [`Schedule::ended`](super::Schedule::ended) does not
    ///   return before this call does. An executor ensures it with a lock that both take. Or else a
    ///   [waker](super::EndedTask::waker) of the task exists until this call returns.
    /// * What [`spawn_unchecked`](super::spawn_unchecked) demands of runnables holds for the one
    ///   that is returned.
    ///
    /// # Progress
    /// Lock-free.
    ///
    /// # Cost
    /// At most one atomic read-modify-write, unless another thread changes the task meanwhile.
    #[inline]
    pub unsafe fn raw_abort(raw: NonNull<()>) -> Option<Self> {
        // SAFETY: a task is alive while its call of `ended` has not returned, or it has a waker.
        unsafe { Self::raw_view(raw) }.abort_idle()
    }

    /// Looks at a task from outside, by its [address](Runnable::as_ptr).
    ///
    /// This is for tools that show what a program waits for, such as a simulator that reports a
    /// deadlock, or a dump of an executor's tasks.
    ///
    /// # Safety
    /// `raw` is the address of a task with metadata `M`, or `M` is `()`. The task is alive as long
    /// as the view is used: there is a runnable, a handle or a waker of it, or its call of
    /// [`Schedule::ended`](super::Schedule::ended) has not returned.
    ///
    /// # Example
    /// ```
    /// use joint::task::{self, Runnable};
    ///
    /// let (inner, handle) = task::spawn(async {}, |_| {});
    /// // SAFETY: the runnable keeps the task alive.
    /// let view = unsafe { Runnable::<()>::raw_view(inner.as_ptr()) };
    /// assert!(view.is_runnable() && view.waiter().is_none());
    /// let (outer, _handle) = task::spawn(handle, |_| {});
    /// let address = outer.as_ptr().addr().get();
    /// outer.run();
    /// assert_eq!(view.waiter(), Some(address));
    /// ```
    #[inline]
    pub unsafe fn raw_view<'a>(raw: NonNull<()>) -> TaskView<'a, M> {
        // SAFETY: passed on from the caller.
        unsafe { Task(raw.cast()).view() }
    }

    /// Looks at the task, which is alive while its runnable is borrowed.
    #[inline]
    pub fn view(&self) -> TaskView<'_, M> {
        // SAFETY: the runnable keeps the task alive, and its metadata is an `M`.
        unsafe { self.task.view() }
    }

    /// Passes the runnable to the schedule function.
    #[inline]
    pub fn schedule(self) {
        let this = ManuallyDrop::new(self);
        let _held = this.view().hold();
        // SAFETY: the runnable is given up: it is not dropped. `_held` keeps rule 3.
        unsafe { this.view().schedule(ScheduleInfo::WOKEN) };
    }

    /// Returns the metadata that the task was made with.
    #[inline]
    pub fn metadata(&self) -> &M {
        self.view().metadata()
    }

    /// Returns a word for the queue that this runnable is kept in.
    #[inline]
    pub fn link(&self) -> &Link {
        &self.view().header().link
    }

    /// Returns the word for the queue of a runnable that is kept as an address.
    ///
    /// # Safety
    /// `raw` came from [`into_raw`](Runnable::into_raw), and is not turned into a runnable while
    /// the reference is used.
    #[inline]
    pub unsafe fn raw_link<'a>(raw: NonNull<()>) -> &'a Link {
        // SAFETY: the runnable that the address stands for keeps the task alive.
        &unsafe { Task(raw.cast()).view::<()>() }.header().link
    }

    /// Returns the task's address, as [`into_raw`](Runnable::into_raw) does, and keeps the
    /// runnable. The address owns nothing.
    #[inline]
    pub fn as_ptr(&self) -> NonNull<()> {
        self.task.0.cast()
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.view().name()
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        self.view().spawned()
    }

    /// Returns a new waker of the task. One waker too many, made here or by a clone, [ends the
    /// program](super#limits).
    pub fn waker(&self) -> Waker {
        self.view().new_waker()
    }

    /// Turns the runnable into the task's address, for a queue that keeps words. Turn it back with
    /// [`from_raw`](Runnable::from_raw). If the address is dropped instead, the task is leaked, and
    /// its waiter waits forever.
    pub fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).task.0.cast()
    }

    /// Turns a task's address back into its runnable.
    ///
    /// # Safety
    /// * `raw` came from [`into_raw`](Runnable::into_raw), which was called once for each call of
    ///   this function, and happens before it.
    /// * The task's metadata is an `M`, or begins with one: it is `repr(C)`, its first field is an
    ///   `M`, and it is aligned as an `M` is.
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: passed on from the caller.
        unsafe { Self::from_task(Task(raw.cast())) }
    }
}

/// How a [`Runnable::poll`] ended, and what is left to do.
#[derive(Debug)]
#[must_use = "a runnable that is dropped cancels its task, and a waiter that is not woken waits forever"]
pub enum Polled<M = ()> {
    /// The task waits for a wake-up. If nothing is left that could wake or join it, it has been
    /// dropped.
    Pending,
    /// The task was woken while it ran, and is due again.
    Woken(Runnable<M>),
    /// The task has ended. The waker, if any, is that of its waiter. The caller must wake it.
    Ended(Option<ThinWaker>),
}

impl<M> Drop for Runnable<M> {
    fn drop(&mut self) {
        // SAFETY: the runnable is given up with `self`.
        if let Some(waiter) = unsafe { (self.view().vtable().cancel)(self.task) } {
            waiter.wake();
        }
    }
}
