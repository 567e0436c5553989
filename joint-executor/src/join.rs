//! [`join`]: runs two closures, one of which another worker may take; and [`Executor::install`].

use std::panic::resume_unwind;

use super::{Executor, entered, fork_join::job::Job, worker::current};
use joint::completion::Ended;

/// Runs two closures, perhaps at the same time, and returns both results.
///
/// It is for work that keeps a processor busy, and for splitting such work again and again. `a`
/// runs here at once. `b` is offered to the other workers of the executor. If none of them has
/// taken it by the end of `a`, `b` runs here as well. A worker that has nothing else to do takes
/// the oldest offer, which is usually the largest part, after it has seen one for 50 microseconds.
/// The parts may therefore be as small as you like.
///
/// Called by a worker of an [`Executor`], inside a task or inside another `join`, it uses that
/// executor. On any other thread the whole call is moved to an executor, and the thread waits. That
/// is the executor in whose [`block_on`](Executor::block_on) the thread is, or else the [global
/// one](Executor::global). Use [`Executor::install`] to choose another.
///
/// While a worker waits for `b`, it takes over parts of other calls, but runs no tasks. The tasks
/// in its queue are left to the other workers, as behind any long poll. Neither closure should
/// therefore wait for a task, or for anything else but its own parts.
///
/// # Locks
/// Do not hold a lock across a call if a closure of another call takes the same lock. While the
/// worker waits for `b`, it may run that closure, which then waits for a lock that its own thread
/// holds: a deadlock. Release the lock before the call, or make the call on an executor of its own,
/// with [`Executor::install`]. A worker that waits for another executor runs no part of any call.
/// ```
/// use std::sync::Mutex;
///
/// use joint_executor::{Executor, join};
///
/// let workers = Executor::builder().workers(2).build()?;
/// let under_lock = Executor::builder().workers(2).build()?;
/// let total = Mutex::new(0);
/// let add = |n: u64| {
///     let mut total = total.lock().unwrap();
///     let (a, b) = under_lock.install(|| join(|| n * n, || n));
///     *total += a + b;
/// };
/// workers.install(|| join(|| add(1), || add(2)));
/// assert_eq!(*total.lock().unwrap(), 8);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # What a side sees of its task
/// A `b` that another worker takes sees no [`TaskLocal`](crate::TaskLocal) value: not those of the
/// task that forked it, which may be in use by `a`, and not those of the task that its worker is
/// in. It is in the spans of `tracing` of the latter. There [`spawn_local`](crate::spawn_local)
/// starts a task of the worker that runs it. A side that runs in the caller's place sees what the
/// caller sees, so whether `b` sees a value is up to chance. If a side needs one, pass it on by
/// [`sync_scope`](crate::TaskLocal::sync_scope).
///
/// # Cost
/// No allocation, except on the first calls of a worker, which make room for the sides that it
/// offers. Unless another worker takes `b`, a call costs a few stores to the worker's own memory
/// and one atomic read-modify-write, or none in an executor of one worker. The first of several
/// nested calls checks whether all other workers are asleep, which takes a fence, and if so wakes
/// one. If `b` is stolen, both threads pay a few microseconds.
/// The stack must have room for what the program would need without any parallelism, and for 64 KiB
/// more.
///
/// # Happens-before
/// Everything before the call happens before both closures, and both closures happen before the
/// call returns.
///
/// # Panics
/// With the panic of `a`, or else with the panic of `b`. If `a` panics and no worker has taken `b`,
/// `b` is dropped without being run. If a worker has taken `b`, the call waits for it and drops its
/// result. Neither closure is therefore running when the panic continues, so both may borrow.
///
/// Where the call is moved to an executor or waits for `b`, it also panics, or ends the program, as
/// [`Executor::install`] does.
///
/// # Example
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 4 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = joint_executor::join(|| sum(left), || sum(right));
///     left + right
/// }
///
/// let numbers: Vec<u64> = (1..=100).collect();
/// assert_eq!(sum(&numbers), 5050);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current::own_forks() {
        // SAFETY: these are this thread's own forks.
        Some(forks) => unsafe { forks.join(offered, current::wait_helping, a, b) },
        None => join_outside(a, b),
    }
}

/// Says what to write instead: there are macros of this name for futures elsewhere, and `join` is a
/// function for closures.
#[doc(hidden)]
#[macro_export]
macro_rules! join {
    ($($future:tt)*) => {
        ::core::compile_error!(
            "`joint_executor` has no macro `join!`: await two futures by `join_async(a, b).await`, and \
             more, or futures that borrow, by `join!` of the crate `futures`; run closures that compute \
             by `join(a, b)`"
        )
    };
}

#[cold]
#[inline(never)]
fn join_outside<RA: Send, RB: Send>(
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    entered::ambient().install(|| join(a, b))
}

/// Tells of a fork as the worker that runs on this thread.
#[cold]
fn offered() {
    current::with_current(|worker| {
        worker.expect("only workers have forks").tell_of_fork();
    });
}

impl Executor {
    /// Runs a closure on one of the workers, and blocks the thread until it has ended. Values that
    /// are set on this thread, such as those of a [`TaskLocal`](crate::TaskLocal), are not set
    /// there.
    ///
    /// With it, a thread that is not a worker chooses the executor of a [`join`]. Called by a
    /// worker of this executor, it is a plain call. Called by a worker of another executor, it
    /// blocks that worker.
    ///
    /// # Cost
    /// One task.
    ///
    /// # Panics
    /// * With the panic of the closure.
    /// * If the executor is shut down before it has begun the closure, which is dropped then.
    /// * It ends the program if the wait panics, because a worker may be using this thread's stack.
    ///   Only the thread's [`Host`](joint::host::Host) can do that.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(2).build()?;
    /// let mut words = ["to", "be", "or", "not"];
    /// let (left, right) = words.split_at_mut(2);
    /// executor.install(|| joint_executor::join(|| left.sort(), || right.sort()));
    /// assert_eq!(words, ["be", "to", "not", "or"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.runs_this_thread() {
            return f();
        }
        let mut job = Job::new(f);
        // SAFETY: the job stays in this frame, and is back before it is used again below.
        let (taken, lent) = unsafe { job.lend() };
        self.spawn(async move { taken.run() }).detach();
        let ended = lent.block();
        let outcome = match ended {
            // SAFETY: the job has finished, and its result is taken once.
            Ended::Done => unsafe { job.take_result() },
            Ended::Abandoned => {
                // SAFETY: the job came back unused.
                drop(unsafe { job.take_work() });
                panic!(
                    "the executor was shut down before it had run the closure that was passed to \
                     `install` or `join`; keep it running during the call"
                );
            }
        };
        job.retire();
        outcome.unwrap_or_else(|payload| resume_unwind(payload))
    }
}
