//! [`Executor::block_on`]: a thread drives a future of its own, and spawns tasks on an executor.
//!
//! Meanwhile the thread is *in* that executor. If code asks for the current worker and finds none,
//! it uses this executor instead of the global one. A worker of another executor does not count as
//! a worker meanwhile, except for what it does for its own executor while it is blocked.

use alloc::sync::Arc;
use core::{future::Future, ops::Deref};

use super::{Executor, hosted, who};

pub(super) enum Ambient<'a> {
    Borrowed(&'a Executor),
    /// That of the thread's [`Host`](hosted::Host).
    Hosts(Arc<Executor>),
}

impl Deref for Ambient<'_> {
    type Target = Executor;

    fn deref(&self) -> &Executor {
        match self {
            Self::Borrowed(executor) => executor,
            Self::Hosts(executor) => executor,
        }
    }
}

/// Returns the executor that this thread is in, or else the global one. The reference is valid only
/// until the thread leaves the executor, so it must not be kept.
///
/// # Panics
/// If the global executor is needed and cannot be started. In the child of a fork that has
/// inherited the executor.
pub(super) fn ambient<'a>() -> Ambient<'a> {
    let ambient = entered().unwrap_or_else(|| Ambient::Borrowed(Executor::global()));
    ambient.shared.process.check();
    ambient
}

/// Returns the executor that this thread is in, or else that of its host. As for [`ambient`], the
/// reference must not be kept.
pub(super) fn entered<'a>() -> Option<Ambient<'a>> {
    // SAFETY: `enter` set it from a reference that it borrows, and resets it before that borrow
    // ends.
    match unsafe { who::entered::<Executor>().as_ref() } {
        Some(entered) => Some(Ambient::Borrowed(entered)),
        None => hosted::host().map(|host| Ambient::Hosts(host.executor())),
    }
}

impl Executor {
    /// Calls `f` while this thread is in this executor: [`spawn`](crate::spawn), timers,
    /// descriptors, [`join`](crate::join()), [`async_scope`](crate::async_scope) and a
    /// [`JoinSet`](crate::JoinSet) use it instead of the global one. The thread does not become a
    /// worker. On one of this executor's own workers, nothing changes.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(1).build()?;
    /// let task = executor.enter(|| joint_executor::spawn(async { 6 * 7 }));
    /// assert_eq!((joint_executor::block_on(task), executor.metrics().spawned), (42, 1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.runs_this_thread() {
            return f();
        }
        hosted::check_place(self);
        who::as_entered::<Self, _>(self, f)
    }

    /// Runs a future to its end on this thread, as [`block_on`](joint::block_on) does, with this
    /// executor as the current one: [`spawn`](crate::spawn), timers, descriptors,
    /// [`join`](crate::join()), [`async_scope`](crate::async_scope) and a
    /// [`JoinSet`](crate::JoinSet) use it instead of the global one.
    ///
    /// The future is not a task, and need be neither `Send` nor `'static`. Tasks that it has
    /// detached keep running after it has ended. Dropping a handle inside it cancels the task, as
    /// everywhere.
    ///
    /// The thread does not become a worker, and a [`LocalExecutor`](crate::LocalExecutor) around
    /// this call is hidden. [`spawn_local`](crate::spawn_local) therefore panics, unless a
    /// `LocalExecutor` runs inside this call.
    ///
    /// On a worker of any executor it [blocks that worker](joint::block_on#on-a-worker). On one of
    /// this executor's own workers it is the same as [`block_on`](joint::block_on): that thread
    /// stays a worker.
    ///
    /// This thread serves no timer and no descriptor. If the executor's workers are
    /// [hosted], their owner must drive one until the future has ended, or the call
    /// may never return. Once the executor is shut down, the global one serves new timers.
    ///
    /// # Panics
    /// If the future's `poll` panics.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(2).build()?;
    /// let answer = executor.block_on(async { joint_executor::spawn(async { 6 * 7 }).await });
    /// assert_eq!((answer, executor.metrics().spawned), (42, 1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.enter(|| joint::block_on(future))
    }
}
