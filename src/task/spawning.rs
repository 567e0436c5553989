//! The functions that make a task without a [`Builder`].

use super::{Builder, JoinHandle, Runnable};

/// Makes a task of a future. Nothing runs yet, and the caller must run or schedule the returned
/// runnable.
///
/// Each time that the task is woken while idle, the waking thread calls `schedule` with the
/// runnable. If the task is woken while it runs, the run calls `schedule` at its end. `schedule`
/// may run or drop the runnable at once. If it runs the runnable, it may be called again from
/// within that run, and then recurses. [`Builder`] takes any [`Schedule`](super::Schedule),
/// metadata and a name.
///
/// Dropping the handle **cancels** the task. Call [`detach`](JoinHandle::detach) if the task should
/// run on without a handle.
///
/// # Cost
/// [One allocation](super#memory), and no atomic operation. A schedule function that is stored in
/// the task could be freed while it runs, so each call takes up to two atomic read-modify-writes
/// that keep it alive. A function, or a closure without captures, needs none.
///
/// # Example
/// ```
/// use joint::task;
///
/// let (runnable, handle) = task::spawn(async { "done" }, |_| unreachable!("never woken"));
/// runnable.run();
/// assert!(handle.is_finished());
/// assert_eq!(joint::block_on(handle), "done");
/// ```
#[track_caller]
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future<Output: Send + 'static> + Send + 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    Builder::new().spawn(|()| future, schedule)
}

/// Makes a task of a future, and polls it once on the caller's stack before this returns.
///
/// If the future is ready in that poll, the task has ended, and nobody was told of it. If it is
/// pending, the task waits for its first waker, which passes it to `schedule`. If it has woken
/// itself in the poll, this call passes it to `schedule`. To do something else then, and for a
/// future that is not `Send`, make the task by [`spawn`] or another function and
/// [poll](Runnable::poll) its runnable.
///
/// The future runs as code that the caller calls. It meets the locks and the borrows that the
/// caller holds, and uses the caller's [budget](crate::budget). It nests on the stack if it starts
/// other tasks in this way, and this function sets no limit to that. The new task is the current
/// one during the poll (`task::id`, `task::with_current`), and the caller's again afterwards.
///
/// C#'s asynchronous methods begin like this, and so do Swift's `Task.immediate` and Kotlin's
/// `CoroutineStart.UNDISPATCHED`. tokio's `spawn` always queues the task.
///
/// # Cost
/// [One allocation](super#memory), or none in a [slot](Builder::slot) of the caller's, and one
/// atomic read-modify-write, either to end or to begin to wait.
///
/// # Example
/// ```
/// use joint::task;
///
/// let handle = task::spawn_now(async { "done" }, |_| unreachable!("never woken"));
/// assert!(handle.is_finished());
/// assert_eq!(joint::block_on(handle), "done");
/// ```
#[track_caller]
pub fn spawn_now<F, S>(future: F, schedule: S) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    Builder::new().spawn_now(|()| future, schedule)
}

/// Makes a task without a handle. The thread that ends the task drops its output.
///
/// # Cost
/// As for [`spawn`]. The run that ends the task takes no atomic read-modify-write if no waker is
/// left.
///
/// # Example
/// ```
/// use joint::task;
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// let runnable = task::spawn_detached(async move { sender.send(1).unwrap() }, |_| {});
/// runnable.run();
/// assert_eq!(receiver.recv(), Ok(1));
/// ```
#[track_caller]
pub fn spawn_detached<F, S>(future: F, schedule: S) -> Runnable
where
    F: Future + Send + 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    Builder::new().spawn_detached(|()| future, schedule)
}

/// Makes a task of any future and any schedule function.
///
/// # Safety
/// * If the future or its output is not `Send`, the runnables are run and dropped only on this
///   thread, and so is the handle.
/// * If the future or its output borrows, the borrowed values stay until the [task has
///   ended](super#tasks-that-borrow), and its output has been dropped or taken out. Wakers of the
///   task may live longer.
/// * If the schedule function borrows, the borrowed values stay until all [references to the
///   task](super#references-to-a-task) are gone.
/// * If the schedule function is not `Send` and `Sync`, all references to the task are used and
///   dropped only on this thread.
///
/// # Example
/// ```
/// use joint::task;
///
/// let text = String::from("borrowed");
/// // SAFETY: the future may be sent. It borrows `text`, and `block_on` waits for its end.
/// let (runnable, handle) = unsafe { task::spawn_unchecked(async { text.len() }, |_| {}) };
/// runnable.run();
/// assert_eq!(joint::block_on(handle), 8);
/// ```
#[track_caller]
pub unsafe fn spawn_unchecked<F, S>(future: F, schedule: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future,
    S: Fn(Runnable),
{
    // SAFETY: passed on from the caller.
    unsafe { Builder::new().spawn_unchecked(|()| future, schedule) }
}
