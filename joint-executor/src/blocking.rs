//! [`spawn_blocking`]: functions that block, on threads that may block.

use alloc::sync::Arc;
use core::{future::poll_fn, panic::Location, task::Poll};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{
    Executor,
    blocking_pool::{self, Limits, Pool},
    calls::{self, Calls},
    entered,
    guard::guarded,
    hosted,
    worker::{current, shared::Shared},
};
use joint::task::{Builder, EndedTask, JoinHandle, Runnable, Schedule, ScheduleInfo, TaskEnd};
use joint_switch::Renewed;

/// Runs a function that blocks, as a task, on a thread that is kept for such functions.
///
/// The threads are started when there is work for them, up to 512. Each exits after it has been
/// idle for 10 seconds. All executors of the process share them, and no executor needs to run, but
/// an executor for which
/// [`max_blocking_threads`](crate::Builder::max_blocking_threads) or
/// [`thread_keep_alive`](crate::Builder::thread_keep_alive) is set has threads of its own for what
/// its code passes here. If no thread is free and no more may be started, functions wait in a
/// queue, oldest first. Functions that wait for one another must therefore not outnumber the
/// threads.
///
/// The child of a `fork` has its own threads for this. A function that forks must not return in the
/// child.
///
/// # Cancelling
/// Dropping the handle **cancels** the task, and so does [`abort`](JoinHandle::abort). A function
/// that has not begun is dropped and never runs. A function that has begun runs to its end, because
/// nothing can stop it. Its output is then dropped where it ends or, after an `abort`, can still be
/// awaited. [`cancel`](JoinHandle::cancel) waits until the function has ended or has been dropped.
/// [`detach`](JoinHandle::detach) the handle to let the function run by itself. The end of the
/// program waits for no function, and nor does the drop of an executor:
/// [`Executor::shutdown_timeout`](crate::Executor::shutdown_timeout) does.
///
/// # Panics
/// A panic of the function is passed to the waiter of the task, as for any task.
///
/// If the system refuses to start a thread, because a limit of memory or of processes is reached,
/// the function waits for one of the existing threads. If there is none, the task ends at once with
/// a panic that says so, and the function is dropped without being called, on the thread that was
/// refused. The next call asks the system again.
///
/// # Cost
/// An allocation, a system call for the process id, and a lock on the queue of the threads. If no
/// thread is free and none is being started, also the start of a thread.
///
/// # Example
/// ```
/// let task = joint_executor::spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
/// let text = joint_executor::block_on(task)?;
/// assert!(text.contains("joint"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let of_worker = current::with_current(|worker| worker.map(|own| own.shared().clone()));
    let shared = of_worker.or_else(|| entered::entered().map(|own| own.shared.clone()));
    // The lock of an executor that the child of a fork has inherited may be held forever.
    let shared = shared.filter(|shared| shared.process.is_current());
    spawn(shared.as_deref(), Location::caller(), f)
}

impl Executor {
    /// Runs a function that blocks, as [`joint_executor::spawn_blocking`](crate::spawn_blocking)
    /// does in a task of this executor: [`shutdown_timeout`](Executor::shutdown_timeout) waits for
    /// it, and if the executor has [threads of its own](crate::Builder::max_blocking_threads) for
    /// such functions, it runs on one of these. It also runs after the executor was shut down.
    ///
    /// # Panics
    /// In the child of a fork that has inherited the executor. Otherwise as there.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().max_blocking_threads(4).build()?;
    /// let task = executor.spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
    /// assert!(executor.block_on(task)?.contains("joint"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if !self.runs_this_thread() {
            hosted::check_place(self);
        }
        spawn(Some(&self.shared), Location::caller(), f)
    }
}

/// Runs a function on behalf of an executor, or of none.
fn spawn<T: Send + 'static>(
    shared: Option<&Shared>,
    spawned: &'static Location<'static>,
    f: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let counted = match shared {
        Some(shared) => shared.calls.begin(),
        None => Calls::outside().begin(),
    };
    let call = async move {
        let f = || calls::call(&counted, f);
        blocking_pool::check();
        match hosted::host() {
            Some(host) => call_for_host(host, f).await,
            None => f(),
        }
    };
    let builder = Builder::new().spawned_at(spawned);
    let (runnable, handle) = builder.spawn(|()| call, OnPool);
    run_on_pool(runnable, shared.and_then(|shared| shared.own_pool.get()));
    handle
}

/// Calls a function that may block, on a thread that has entered a host.
async fn call_for_host<T>(host: Arc<dyn hosted::Host>, f: impl FnOnce() -> T) -> T {
    host.call_goes_on();
    let result = catch_unwind(AssertUnwindSafe(f));
    host.call_goes_on();
    drop(host);
    match result {
        Ok(output) => return output,
        Err(payload) if payload.is::<hosted::Unwind>() => {}
        Err(payload) => resume_unwind(payload),
    }
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// How a function reaches its thread.
struct OnPool;

impl Schedule for OnPool {
    /// The future never waits, so this is called once for each task, except where a
    /// [host](hosted::Host) ends it early.
    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        run_on_pool(runnable, None);
    }

    fn ended(&self, task: &EndedTask<'_, ()>, how: TaskEnd) {
        if let Some(host) = hosted::host() {
            guarded(|| host.call_ended(task.id(), how));
        }
    }
}

/// Runs a function on the executor's own threads, if it has them.
fn run_on_pool(runnable: Runnable, own: Option<&Arc<Pool>>) {
    if let Some(host) = hosted::host() {
        return host.call_blocking(runnable);
    }
    static POOL: Renewed<Arc<Pool>> = Renewed::new();
    let shared = || POOL.get(|pool| pool.is_here(), || Pool::new(Limits::default()));
    own.unwrap_or_else(shared).push(runnable);
}
