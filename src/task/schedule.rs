//! [`Schedule`]: the function by which a task reaches its executor.

use core::{fmt, mem::needs_drop};

use super::{EndedTask, PendingTask, Runnable, TaskEnd};
use crate::waker::Family;

/// The circumstances in which a runnable is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleInfo {
    /// Whether the task was woken while it ran. If so, it has just been run, and a fair executor
    /// queues it behind other tasks.
    pub woken_while_running: bool,
}

impl ScheduleInfo {
    pub(super) const WOKEN: Self = Self {
        woken_while_running: false,
    };
}

/// The function that a task calls with its next runnable.
///
/// Every `Fn(Runnable<M>)` implements it. [`WithInfo`] adapts a function that takes the
/// [`ScheduleInfo`] as well. Implement it for a type of your own if the function's type needs a
/// name, or for an executor that keeps a list of its waiting tasks.
///
/// # Example
/// ```
/// use joint::task::{Builder, Runnable, Schedule, ScheduleInfo};
/// use std::sync::mpsc::{Sender, channel};
///
/// struct Queue(Sender<Runnable>);
///
/// impl Schedule for Queue {
///     fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
///         self.0.send(runnable).unwrap();
///     }
/// }
///
/// let (sender, receiver) = channel();
/// let (runnable, handle) = Builder::new().spawn(|()| async { 5 }, Queue(sender));
/// runnable.schedule();
/// receiver.recv().unwrap().run();
/// assert_eq!(joint::block_on(handle), 5);
/// ```
pub trait Schedule<M = ()>: Sized {
    /// Takes the runnable, to run it or to drop it, now or later and on any thread.
    fn schedule(&self, runnable: Runnable<M>, info: ScheduleInfo);

    /// Called by each run whose poll was pending, before the run ends. Unless the task is woken
    /// before that, it becomes idle, and then only its wakers and its handle refer to it.
    ///
    /// An executor that has to find its waiting tasks later, for example to cancel them all, enters
    /// the task in a list here, as the [guide](super#an-executor-that-can-be-shut-down) says. A
    /// task that waits several times calls this several times. The function may wake and abort the
    /// task, and may drop its handle and its wakers. The default does nothing, and costs nothing.
    ///
    /// # Panics
    /// It must not panic, because the task could then never be woken again. A panic ends the
    /// program.
    #[inline]
    fn pending(&self, task: &PendingTask<'_, M>) {
        let _ = task;
    }

    /// Called once for each task, after its future has been dropped, and before its waiter learns
    /// that it has ended. `how` says how it ends.
    ///
    /// The thread is the one that ran the task last, or that dropped its runnable. A task whose
    /// runnable is leaked never ends. The function may do to the task what
    /// [`pending`](Schedule::pending) may. The default does nothing, and costs nothing.
    ///
    /// # Panics
    /// It must not panic, because the waiter would then wait forever. A panic ends the program.
    #[inline]
    fn ended(&self, task: &EndedTask<'_, M>, how: TaskEnd) {
        let _ = (task, how);
    }

    /// The family of the tasks' wakers, by which the executor recognises them.
    const FAMILY: Option<&'static Family> = None;
}

/// Whether a reference must keep the task's memory alive across a call of its schedule function. A
/// value of a type without size and without drop takes no memory, and so cannot be freed.
pub(super) const fn is_stored<S>() -> bool {
    size_of::<S>() != 0 || needs_drop::<S>()
}

impl<M, S: Fn(Runnable<M>)> Schedule<M> for S {
    #[inline]
    fn schedule(&self, runnable: Runnable<M>, _: ScheduleInfo) {
        self(runnable);
    }
}

/// A schedule function that also takes the [`ScheduleInfo`].
///
/// # Example
/// ```
/// use joint::task::{Builder, Runnable, ScheduleInfo, WithInfo};
/// use std::{future::poll_fn, mem::replace, sync::mpsc::channel, task::Poll};
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
/// let (sender, receiver) = channel();
/// let schedule = WithInfo(move |runnable: Runnable, info: ScheduleInfo| {
///     sender.send((runnable, info.woken_while_running)).unwrap();
/// });
/// let (runnable, handle) = Builder::new().spawn(|()| yields_once, schedule);
/// runnable.run();
/// let (runnable, woken_while_running) = receiver.recv().unwrap();
/// assert!(woken_while_running);
/// runnable.run();
/// joint::block_on(handle);
/// ```
#[derive(Clone, Copy)]
pub struct WithInfo<S>(pub S);

impl<M, S: Fn(Runnable<M>, ScheduleInfo)> Schedule<M> for WithInfo<S> {
    #[inline]
    fn schedule(&self, runnable: Runnable<M>, info: ScheduleInfo) {
        (self.0)(runnable, info);
    }
}

impl<S> fmt::Debug for WithInfo<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithInfo").finish_non_exhaustive()
    }
}
