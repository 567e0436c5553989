//! [`join`]: two closures, of which another worker may take one; and [`Executor::install`].

use core::{
    future::Future,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};
use std::panic::resume_unwind;

use super::{
    Executor, entered,
    fork_join::{
        forks::Surroundings,
        job::{Job, Taken, Wait},
    },
    worker::current,
};
use crate::completion::Ended;

/// Runs two closures, perhaps at the same time, and comes back with both results.
///
/// It is for work that keeps a processor busy, and for splitting that again and again. `a` runs here at once. `b` is left
/// where a worker of the executor with nothing else to do finds it; when none has come by the end of `a`, `b` runs here as
/// well. A worker takes what is oldest, which is most often the largest part, and leaves alone what is younger than a few
/// microseconds. So the parts may be as small as one likes.
///
/// Called by a worker of an [`Executor`], inside a task or inside of another `join`, it uses that
/// executor. Anywhere else the whole call goes to the executor whose
/// [`block_on`](Executor::block_on) it is called in, or else to the [global one](Executor::global),
/// and the thread waits; [`Executor::install`] chooses another.
///
/// While it waits for `b` a worker takes over parts of other calls, but runs no tasks: those in its queue are left to the
/// other workers, like those behind any long poll. So neither closure should wait for a task, nor for anything but its own
/// parts.
///
/// # What a side sees of its task
/// A `b` that another worker takes sees no [`TaskLocal`](crate::TaskLocal) value and no current
/// span of `tracing`: not those of the task that forked it, which may be in use by `a`, and not
/// those of the task that its worker is in. There [`spawn_local`](crate::spawn_local) starts a task
/// of the worker that runs it. A side that runs in the caller's place sees what the caller sees, so
/// whether `b` sees a value is up to chance. If a side needs one, pass it on:
/// ```
/// static REQUEST: joint::TaskLocal<u64> = joint::TaskLocal::new();
///
/// let task = REQUEST.scope(7, async {
///     let id = REQUEST.get();
///     joint::join(
///         || REQUEST.sync_scope(id, || REQUEST.get()),
///         || REQUEST.sync_scope(id, || REQUEST.get()),
///     )
/// });
/// assert_eq!(joint::block_on(joint::spawn(task)), (7, 7));
/// ```
///
/// # Cost
/// No allocation. Unless another worker takes `b`: a few stores to the worker's own memory, and no atomic read-modify-write.
/// On Linux no fence either; elsewhere one. The first in a row of calls looks whether all other workers sleep, and wakes one
/// then. A `b` that was taken costs both sides some microseconds.
///
/// The stack has to hold what the program would need without any parallelism, and 64 KiB more.
///
/// # Happens-before
/// All that came before the call happens before both closures, and they happen before it returns.
///
/// # Panics
/// With the panic of `a`, or else with that of `b`. When `a` panics, `b` is dropped without being run if nobody has taken
/// it; else it is waited for, and what comes of it is dropped. So neither runs any more when the panic goes on, and both may
/// borrow.
///
/// # Example
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 4 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = joint::join(|| sum(left), || sum(right));
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
        // SAFETY: this thread's own.
        Some(forks) => unsafe { forks.join(&Here, a, b) },
        None => join_outside(a, b),
    }
}

#[cold]
#[inline(never)]
fn join_outside<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    entered::ambient().install(|| join(a, b))
}

/// The worker that this thread is.
struct Here;

impl Surroundings for Here {
    #[cold]
    fn offered(&self) {
        current::with_current(|local| {
            let local = local.expect("only workers have forks");
            local.tell_of_fork();
        });
    }

    #[cold]
    fn wait(&self, wait: Wait) -> Ended {
        current::with_current(|local| {
            let local = local.expect("only workers have forks");
            local.wait_helping(wait)
        })
    }
}

/// A call from outside, as a task.
struct Handed(Option<Taken>);

impl Future for Handed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if let Some(taken) = self.0.take() {
            taken.run();
        }
        Poll::Ready(())
    }
}

impl Executor {
    /// Runs a closure on one of the workers, and blocks the thread until it has ended. What is set
    /// on this thread, such as a [`TaskLocal`](crate::TaskLocal), is not set there.
    ///
    /// It is how a thread outside chooses the executor of a [`join`]. Called by a worker of this executor, it is a plain
    /// call. Called by a worker of another, it blocks that worker.
    ///
    /// # Cost
    /// One task.
    ///
    /// # Panics
    /// With the panic of the closure.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().workers(2).build()?;
    /// let mut words = ["to", "be", "or", "not"];
    /// let (left, right) = words.split_at_mut(2);
    /// executor.install(|| joint::join(|| left.sort(), || right.sort()));
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
        // SAFETY: the address of a place.
        let header = unsafe { NonNull::new_unchecked(Job::as_ptr(&raw const job)) };
        // SAFETY: the one taker; the frame stays until it has finished, as nothing below can panic before. `F` and `R` are
        // `Send`.
        let taken = unsafe { Taken::new(header) };
        self.spawn(Handed(Some(taken))).detach();
        // SAFETY: the owner's one wait, in the owner's frame.
        let ended = unsafe { Wait::new(header) }.block();
        let outcome = match ended {
            // SAFETY: finished, and taken once.
            Ended::Done => unsafe { job.take_result() },
            Ended::Abandoned => {
                // SAFETY: given back unused.
                drop(unsafe { job.take_work() });
                panic!("the executor was dropped before it could run what was installed");
            }
        };
        job.retire();
        outcome.unwrap_or_else(|payload| resume_unwind(payload))
    }
}
