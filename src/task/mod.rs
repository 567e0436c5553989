//! A task: a future on the heap that runs where and when its executor likes, and ends in a join.
//!
//! This is the layer for those who build executors. [`spawn`] takes a future and a function that schedules; what comes back is
//! the [`Runnable`] to be put into a queue and run, and the [`JoinHandle`] for whoever wants the output. The task knows no
//! executor: it calls the schedule function, with its next runnable, each time that it is woken while idle.
//!
//! # Promises
//! * One allocation a task. A runnable is one word, a handle three.
//! * No operation waits for another thread: each is a bounded number of atomic instructions, beside the allocator and what it calls
//!   of others, but [`JoinHandle::abort`] and the drop of a [`JoinHandle`] whose task has not ended, and a wake-up of a task that billions of wake-ups wait for, which are lock-free.
//! * Spawn, run, join and drop take one atomic read-modify-write in all; four when the one who waits, another task, came first.
//! * The future and the output are each dropped exactly once (but see [`spawn_local`]): the future before its task ends for those who wait, on the thread
//!   that runs or drops the runnable.
//! * A task that is idle and that nobody can wake or join any more is scheduled once more, so that its executor drops it.
//! * Waking a task while it runs, however often, runs it once more.
//!
//! # An executor in thirty lines
//! A queue, a loop that runs what is in it, and a way to sleep. The schedule function is the only thing that a task knows of it.
//!
//! ```
//! use joint::task::{self, JoinHandle, Runnable};
//! use std::collections::VecDeque;
//! use std::sync::{Arc, Condvar, Mutex};
//!
//! #[derive(Default)]
//! struct Queue {
//!     // `None` once the executor has gone: a runnable that is dropped cancels its task.
//!     runnables: Mutex<Option<VecDeque<Runnable>>>,
//!     pushed: Condvar,
//! }
//!
//! impl Queue {
//!     fn push(&self, runnable: Runnable) {
//!         if let Some(queue) = &mut *self.runnables.lock().unwrap() {
//!             queue.push_back(runnable);
//!             self.pushed.notify_one();
//!         }
//!     }
//!
//!     fn work(&self) {
//!         loop {
//!             let mut runnables = self.runnables.lock().unwrap();
//!             let runnable = loop {
//!                 let Some(queue) = &mut *runnables else { return };
//!                 match queue.pop_front() {
//!                     Some(runnable) => break runnable,
//!                     None => runnables = self.pushed.wait(runnables).unwrap(),
//!                 }
//!             };
//!             drop(runnables);
//!             runnable.run();
//!         }
//!     }
//! }
//!
//! fn spawn<T: Send + 'static>(
//!     queue: &Arc<Queue>,
//!     future: impl Future<Output = T> + Send + 'static,
//! ) -> JoinHandle<T> {
//!     let push = { let queue = queue.clone(); move |runnable| queue.push(runnable) };
//!     let (runnable, handle) = task::spawn(future, push);
//!     runnable.schedule();
//!     handle
//! }
//!
//! let queue = Arc::new(Queue { runnables: Mutex::new(Some(VecDeque::new())), ..Queue::default() });
//! let workers = [(); 2].map(|()| { let queue = queue.clone(); std::thread::spawn(move || queue.work()) });
//! let first = spawn(&queue, async { 40 });
//! let second = spawn(&queue, async { first.await + 2 });
//! assert_eq!(joint::block_on(second), 42);
//!
//! // What is left is dropped outside of the lock: a future's drop may wake another task.
//! let left = queue.runnables.lock().unwrap().take();
//! drop(left);
//! queue.pushed.notify_all();
//! workers.map(|worker| worker.join().unwrap());
//! ```
//!
//! The same executor on loom's mutex and threads can be model-checked with its tasks ([how](crate#in-your-own-models)).
//! `loom-tests/tests/guide.rs` in the repository has it, its models, and a mistake that they catch.
//!
//! # Panics and re-entrance
//! Everything that a task calls may panic, and may use the task:
//!
//! | what panics | what becomes of it |
//! |---|---|
//! | the future, polled | the result of the task; or it passes through [`Runnable::run`], as [`Builder::propagate_panic`] says. While it unwinds, the future is dropped: that sees `std::thread::panicking()`, and a lock in it is poisoned |
//! | the future, dropped | the result of the task, unless its poll has panicked before |
//! | the output's drop | by the handle, or by the run of a task whose handle is gone: caught. By whoever has awaited it: theirs |
//! | the schedule function | passes through to whoever wakes, schedules, runs or cancels. The runnable that it was given is dropped, which cancels the task |
//! | clone of the waker of one who waits | passes through the poll of the handle; nothing has changed |
//! | wake of the same | passes through the run or the drop of the runnable; the task has ended |
//! | drop of the same | passes through to whoever replaces it or drops the handle, as the last thing done |
//! | drop of the metadata or of the schedule function | passes through to whoever drops the last reference; the memory is given back |
//! | what is dropped because something has panicked | ends the program |
//!
//! A future may drop or await its own handle, wake itself while it is polled or dropped, and outlive the executor that ran it. A
//! handle or a waker may be dropped by the schedule function that it causes to be called.
//!
//! # Limits
//! A task has at most 2^27 wakers at a time (134,217,728), clones included. One more ends the
//! program, with a message: they are counted in a word, and a count that ran over would free a task
//! that is in use. Wake-ups have no limit: any number of them that no run has consumed yet causes
//! one run.
//!
//! `spawn` is built from small parts, each with its own proof: the state word in `state.rs`, the allocation and who may touch
//! what in `cell.rs`, and the join word in [`completion`](crate::completion).

use core::future::Future;

mod builder;
mod cell;
mod error;
mod handle;
mod header;
mod id;
mod join;
mod lent;
mod link;
#[cfg(feature = "std")]
mod local;
mod runnable;
mod schedule;
mod state;
mod unwind;

#[cfg(all(test, feature = "std"))]
pub(crate) use self::link::visits_of;
#[cfg(feature = "std")]
pub(crate) use self::local::this_thread;
pub use self::{
    builder::Builder,
    cell::{Name, Named, Unnamed},
    error::{JoinError, PanicPayload},
    handle::JoinHandle,
    id::Id,
    join::{Cancel, Fallible, JoinResult},
    link::Link,
    runnable::Runnable,
    schedule::{Copied, Schedule, ScheduleInfo, WithInfo},
};
#[cfg(feature = "std")]
pub(crate) use self::{
    lent::{Ended, Pending},
    schedule::sealed::End,
};

/// Makes a task of a future. Nothing runs yet: the runnable is due to be run, and is the caller's.
///
/// `schedule` is called each time that the task is woken while idle, with the runnable, on the thread that wakes; and again by
/// a run that was woken meanwhile. It may run or drop the runnable on the spot, from where it may be called again: a function
/// that runs it recurses. [`Builder`] takes any [`Schedule`], metadata and a name.
///
/// Dropping the handle **cancels** the task; [`detach`](JoinHandle::detach) it to let it run on by itself.
///
/// # Cost
/// One allocation, no atomic operation. A schedule function that takes up room in the task and so could be freed while it is
/// being called is kept alive by up to two atomic read-modify-writes a call; a function or a closure without captures needs none.
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
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    Builder::new().spawn(|()| future, schedule)
}

/// Makes a task that nobody joins. Its output is dropped where it ends.
///
/// # Cost
/// As [`spawn`]; the run that ends it takes no atomic read-modify-write when no waker is left.
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

/// Makes a task of a future that must stay on this thread. The runnable may travel, but only this thread may run or drop it.
///
/// # Panics
/// A run or a drop of the runnable on another thread is a panic of the task, which says where it was spawned. The future must not
/// be touched there: one that was never polled is leaked; one that was cannot be, since others may rely on its place in memory,
/// and the panic ends the program.
///
/// # Example
/// ```
/// use joint::task;
/// use std::rc::Rc;
///
/// let shared = Rc::new(5);
/// let (runnable, handle) = task::spawn_local(async move { *shared }, |_| {});
/// runnable.run();
/// assert_eq!(joint::block_on(handle), 5);
/// ```
#[cfg(feature = "std")]
#[track_caller]
pub fn spawn_local<F, S>(future: F, schedule: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    Builder::new().spawn_local(|()| future, schedule)
}

/// Makes a task of any future and any schedule function.
///
/// # Safety
/// * If the future or its output is not `Send`, the runnables are run and dropped on this thread alone, and so is the handle.
/// * If the future borrows, everything of the task is gone before what it borrows: the runnable, the handle and all wakers. So it
///   is too for the schedule function.
/// * If the schedule function is not `Send` and `Sync`, runnables, wakers and the handle are used and dropped on this thread alone.
///
/// # Example
/// ```
/// use joint::task;
///
/// let text = String::from("borrowed");
/// // SAFETY: the future may be sent; it borrows `text`, and the runnable and the handle are gone before that is.
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
