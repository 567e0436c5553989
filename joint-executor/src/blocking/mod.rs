//! [`spawn_blocking`]: functions that block, on threads that may block.

mod pool;

use core::{future::poll_fn, panic::Location, task::Poll};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use self::pool::Pool;
use super::{
    calls::{self, Call, Calls},
    entered,
    guard::guarded,
    hosted,
    policy::{BLOCKING_KEPT, MOST_BLOCKING},
    worker::{current, shared::Shared},
};
use joint::task::{Builder, EndedTask, JoinHandle, Runnable, Schedule, ScheduleInfo, TaskEnd};
use joint_switch::Renewed;

/// Runs a function that blocks, as a task, on a thread that is kept for such functions.
///
/// The threads are started when there is work for them, up to 512. Each exits after it has been
/// idle for 10 seconds. All executors of the process share them, and no executor needs to run. If
/// no thread is free and no more may be started, functions wait in a queue, oldest first. Functions
/// that wait for one another must therefore not outnumber the threads.
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
    let builder = Builder::new().spawned_at(Location::caller());
    let counted = count();
    let call = async move {
        let f = || calls::call(&counted, f);
        pool::check();
        match hosted::host() {
            Some(_) => call_for_host(f).await,
            None => f(),
        }
    };
    let (runnable, handle) = builder.spawn(|()| call, OnPool);
    run_on_pool(runnable);
    handle
}

/// Counts a function for the shutdown of the executor that the current code is in.
fn count() -> Call {
    // The lock of an executor that the child of a fork has inherited may be held forever.
    let begin = |shared: &Shared| shared.process.is_current().then(|| shared.calls.begin());
    let of_worker = current::with_current(|worker| worker.and_then(|own| begin(own.shared())));
    let counted = of_worker.or_else(|| entered::entered().and_then(|own| begin(&own.shared)));
    counted.unwrap_or_else(|| Calls::outside().begin())
}

/// Calls a function that may block, on a thread that has entered a host.
async fn call_for_host<T>(f: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(f)) {
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
        run_on_pool(runnable);
    }

    fn ended(&self, task: &EndedTask<'_, ()>, how: TaskEnd) {
        if let Some(host) = hosted::host() {
            guarded(|| host.call_ended(task.id(), how));
        }
    }
}

fn run_on_pool(runnable: Runnable) {
    if let Some(host) = hosted::host() {
        return host.call_blocking(runnable);
    }
    static POOL: Renewed<Pool> = Renewed::new();
    let pool = POOL.get(Pool::is_here, || Pool::new(MOST_BLOCKING, BLOCKING_KEPT));
    pool.push(runnable);
}
