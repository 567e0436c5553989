//! [`spawn_blocking`]: functions that block, on threads that may.

mod pool;

use core::{panic::Location, time::Duration};

use self::pool::Pool;
use crate::{
    sync::Renewed,
    task::{Builder, JoinHandle, Runnable},
};

/// How many threads there are at most.
const MOST: usize = 512;
/// How long a thread that has nothing to do is kept.
const KEEP: Duration = Duration::from_secs(10);

/// Runs a function that blocks, on a thread that is kept for that, as a task.
///
/// These threads are started when there is work for them, up to 512, and each ends when it has had
/// nothing to do for 10 seconds. All executors of the process share them, and none needs to run. A
/// function for which no thread is free, and no other may be started, waits in a queue, oldest
/// first: functions that wait for one another must not be more than there can be threads.
///
/// The child of a `fork` has threads of its own for this. A function that forks must not return in
/// the child.
///
/// # Cancelling
/// Dropping the handle **cancels** the task, and so does [`abort`](JoinHandle::abort): a function
/// that has not begun is dropped and never runs. One that has begun goes on to its end, since
/// nothing can stop it; its output is dropped where it ends, or, after an `abort`, is still to be
/// had. [`cancel`](JoinHandle::cancel) waits until it is over, or dropped.
/// [`detach`](JoinHandle::detach) the handle to let the function run by itself. The end of the
/// program waits for none.
///
/// # Panics
/// A panic of the function is for whoever awaits the task, as any task's.
///
/// If the system refuses to start a thread, because a limit of memory or of processes is reached,
/// the function waits for one of the threads that exist. If there is none, the task ends at once
/// with a panic that says so, and the function is dropped without being called, on the thread that
/// was refused. The next call asks the system again.
///
/// # Cost
/// An allocation, a system call for the number of the process, and a lock on the queue of those
/// threads; and the start of a thread if none is free and none is being started.
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
    let call = async move {
        pool::check();
        f()
    };
    let (runnable, handle) = builder.spawn(|()| call, run_on_pool);
    run_on_pool(runnable);
    handle
}

/// The future never waits, so this is called once for each task.
fn run_on_pool(runnable: Runnable) {
    static POOL: Renewed<Pool> = Renewed::new();
    let pool = POOL.get(Pool::is_here, || Pool::new(MOST, KEEP));
    pool.push(runnable);
}
