//! [`spawn_blocking`]: functions that block, on threads that may.

use core::panic::Location;

use crate::task::{Builder, JoinHandle, Runnable};

/// Runs a function that blocks, on a thread that is kept for that, as a task.
///
/// Those threads are those of the crate [`blocking`]: started when there is work for them, up to 500 unless the environment
/// variable `BLOCKING_MAX_THREADS` says otherwise, and kept. All executors of the program share them, and need not run for it.
/// While the system refuses to give a thread that is needed, the call goes on asking for it.
///
/// # Cancelling
/// Dropping the handle **cancels** the task, and so does [`abort`](JoinHandle::abort): a function that has not begun is dropped and
/// never runs. One that has begun goes on to its end, since nothing can stop it; its output is dropped where it ends, or, after
/// an `abort`, is still to be had. [`cancel`](JoinHandle::cancel) waits until it is over, or dropped.
/// [`detach`](JoinHandle::detach) the handle to let the function run by itself. The end of the program waits for none.
///
/// # Panics
/// A panic of the function is for whoever awaits the task, as any task's. The call itself panics on targets without threads.
///
/// # Cost
/// Two allocations, and a lock on the queue of those threads.
///
/// # Example
/// ```
/// let task = joint::spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
/// let text = joint::block_on(task)?;
/// assert!(text.contains("joint"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let builder = Builder::spawned_at(Location::caller());
    let (runnable, handle) = builder.spawn(|()| async move { f() }, run_on_pool);
    run_on_pool(runnable);
    handle
}

/// The future never waits, so this is called once for each task.
fn run_on_pool(runnable: Runnable) {
    blocking::unblock(move || runnable.run()).detach();
}
