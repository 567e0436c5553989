//! [`spawn_now_with`]: a task that has a value in its memory, and [`TaskGuard`], which owns it.

use core::{future::Future, panic::Location};

use super::{
    registry::Lane,
    span::traced,
    start_here,
    worker::{
        launch::builder,
        schedule::{Scheduler, end_idle, linked},
        shared::{EntryLink, Linked, Runnable},
    },
};
use joint::JoinHandle;

/// The metadata of a task that has a value.
#[repr(C)]
struct With<X> {
    link: EntryLink,
    value: X,
}

// SAFETY: the link is the first field, and `spawn_now_with` checks the alignment.
unsafe impl<X> Linked for With<X> {
    #[inline]
    fn link(&self) -> &EntryLink {
        &self.link
    }
}

/// Starts a task as [`spawn_now`](crate::spawn_now) does, with a value in the task's own block of
/// memory.
///
/// `future` makes the task's future, and is given the value where it stays: it is not moved as long
/// as the future or the guard exists. It is dropped with the task's memory, which the last waker of
/// the task keeps too.
///
/// This is for a library whose tasks share something with their handles. It takes one allocation
/// where a value of its own would take a second one.
///
/// # Panics
/// If the value is aligned to more than a pointer, or if the global executor is needed and cannot
/// be started.
///
/// # Example
/// ```
/// use joint_executor::{Executor, spawn_now_with, yield_now};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let executor = Executor::builder().workers(1).build()?;
/// executor.block_on(async {
///     let task = spawn_now_with(AtomicU32::new(6), |value| {
///         value.fetch_add(1, Relaxed);
///         yield_now()
///     });
///     while !task.is_finished() {
///         yield_now().await;
///     }
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn spawn_now_with<X, F>(value: X, future: impl FnOnce(&X) -> F) -> TaskGuard
where
    X: Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    assert!(
        align_of::<X>() <= align_of::<EntryLink>(),
        "the value is aligned to more than a pointer; put it into a box"
    );
    let (spawned, link) = (Location::caller(), EntryLink::new());
    let builder = builder(spawned).metadata(With { link, value });
    let make = |with: &With<X>| traced(future(&with.value), Lane::Normal.name(), None, spawned);
    let (runnable, handle) = builder.spawn(make, Scheduler);
    let task = TaskGuard(handle.without_metadata());
    start_here(linked(runnable));
    task
}

/// Owns a task of [`spawn_now_with`], and keeps its value. Dropping the guard cancels the task.
///
/// If the task waits, and this is the code of a worker of its executor, its future is dropped at
/// once, on this stack. Otherwise its next run drops it, as it does for a [`JoinHandle`], and if it
/// is being polled, the end of that poll.
///
/// # Example
/// ```
/// use joint_executor::{Executor, oneshot, spawn_now_with};
///
/// let executor = Executor::builder().workers(1).build()?;
/// let task = executor.spawn(async {
///     let (sender, receiver) = oneshot::channel::<()>();
///     let waits = spawn_now_with((), |()| async { drop(receiver.await) });
///     drop(waits);
///     assert!(sender.is_closed());
/// });
/// joint_executor::block_on(task);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping a `TaskGuard` cancels its task"]
pub struct TaskGuard(JoinHandle<()>);

impl TaskGuard {
    /// Returns whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Cancels the task, as the drop does, and keeps its value.
    pub fn cancel(&self) {
        if self.is_finished() {
            return;
        }
        // SAFETY: by the bounds of `spawn_now_with`, everything may be sent and shared.
        if let Some(runnable) = unsafe { self.0.abort_idle() } {
            // SAFETY: the metadata is a `With`, which begins with the link.
            end_idle(unsafe { Runnable::from_raw(runnable.into_raw()) });
        }
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.cancel();
    }
}
