//! A task: a future on the heap that runs where and when its executor likes, and ends in a join.
//!
//! This is the layer for those who build executors. [`spawn`] takes a future and a function that schedules; what comes back is
//! the [`Runnable`] to be put into a queue and run, and the [`JoinHandle`] for whoever wants the output. The task knows no
//! executor: it calls the schedule function, with its next runnable, each time that it is woken while idle.
//!
//! # Promises
//! * One allocation a task. A runnable is one word, a handle three.
//! * No operation waits for another thread: each is a bounded number of atomic instructions, but [`JoinHandle::abort`], which
//!   is lock-free.
//! * Spawn, run, join and drop take one atomic read-modify-write in all; four when the one who waits, another task, came first.
//! * The future and the output are each dropped exactly once: the future before its task ends for those who wait, on the thread
//!   that runs or drops the runnable.
//! * A task that is idle and that nobody can wake or join any more is scheduled once more, so that its executor drops it.
//! * Waking a task while it runs, however often, runs it once more.
//!
//! `spawn` is built from small parts, each with its own proof: the state word in `state.rs`, the allocation and who may touch
//! what in `cell.rs`, and the join word in [`completion`](crate::completion).

use core::future::Future;

mod cell;
mod error;
mod handle;
mod header;
mod runnable;
mod state;
mod unwind;

#[cfg(feature = "std")]
pub(crate) use self::header::Ran;
pub use self::{
    error::{JoinError, PanicPayload},
    handle::{Cancel, JoinHandle, JoinResult},
    runnable::Runnable,
};

/// Makes a task of a future. Nothing runs yet: the runnable is due to be run, and is the caller's.
///
/// `schedule` is called each time that the task is woken while idle, with the runnable, on the thread that wakes; and again by
/// a run that was woken meanwhile. It may run or drop the runnable on the spot, from where it may be called again: a function
/// that runs it recurses.
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
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    ends(cell::allocate(future, cell::InPlace(schedule)))
}

/// As [`spawn`], with a schedule function that is copied out of the task before it is called.
#[cfg(feature = "std")]
pub(crate) fn spawn_copied<F, S>(future: F, schedule: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable) + Copy + Send + Sync + 'static,
{
    ends(cell::allocate(future, cell::Copied(schedule)))
}

/// The two ends of a fresh task with an output of type `T`.
fn ends<T>(task: header::Task) -> (Runnable, JoinHandle<T>) {
    // SAFETY: a fresh task's state word says that there is a runnable, and nobody has it yet.
    let runnable = unsafe { Runnable::from_task(task) };
    // SAFETY: a fresh task's state word says that there is a handle, and nobody has it yet.
    let handle = unsafe { JoinHandle::from_task(task) };
    (runnable, handle)
}
