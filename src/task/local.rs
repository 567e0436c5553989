//! Tasks that stay on their thread, although their runnables may be sent to others. Their future is
//! [`Checked`].

use core::{
    future::Future,
    mem::ManuallyDrop,
    panic::Location,
    pin::Pin,
    task::{Context, Poll},
};

use super::{Builder, JoinHandle, Runnable, Schedule, builder::Name, storage::Place, unwind};
use joint_switch::{this_thread, thread::ThreadId};

/// Makes a task of a future that must stay on this thread. The runnable may be sent to other
/// threads, but only this thread may run or drop it.
///
/// # Panics
/// If another thread runs or drops the runnable, the task panics with a message that says where it
/// was spawned. That thread must not touch the future, so a future that was never polled is leaked.
/// A future that was polled is pinned and its memory may not be reused, so in this case the panic
/// ends the program.
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
#[track_caller]
pub fn spawn_local<F, S>(future: F, schedule: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future<Output: 'static> + 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    Builder::new().spawn_local(|()| future, schedule)
}

impl<M, N: Name, P: Place> Builder<M, N, P> {
    /// Makes a task of a future that must stay on this thread, as
    /// [`task::spawn_local`](super::spawn_local) does.
    #[track_caller]
    pub fn spawn_local<F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, JoinHandle<Fut::Output, M>)
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future<Output: 'static> + 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
        N: 'static,
    {
        let spawned = self.settings.spawned.unwrap_or(Location::caller());
        let future = |metadata: &M| Checked {
            future: ManuallyDrop::new(future(metadata)),
            thread: this_thread(),
            spawned,
            polled: false,
        };
        // SAFETY: the future checks its thread. By the bounds, everything else may be sent and
        // shared, and borrows nothing. An output that may not be sent is held only by the future's
        // thread, which drops it, and by a handle that is not `Send` then.
        unsafe { self.spawn_unchecked(future, schedule) }
    }
}

/// A future that panics if it is polled or dropped on a thread other than the one that made it.
struct Checked<F> {
    future: ManuallyDrop<F>,
    thread: ThreadId,
    spawned: &'static Location<'static>,
    /// Whether the future was polled. If so, it is pinned, and its memory must not be reused before
    /// it is dropped.
    polled: bool,
}

impl<F> Checked<F> {
    fn is_at_home(&self) -> bool {
        self.thread == this_thread()
    }
}

const DROPPED_ELSEWHERE: &str =
    "a local future that has been polled must be dropped by the thread that polled it";

#[cold]
fn wrong_thread(what: &str, spawned: &Location<'_>) -> ! {
    panic!(
        "a local task, spawned at {spawned}, was {what} by another thread; run and drop its \
         runnables only on the thread that spawned it"
    );
}

impl<F: Future> Future for Checked<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if !self.is_at_home() {
            wrong_thread("polled", self.spawned);
        }
        // SAFETY: the future is pinned with `self`, and not moved.
        let this = unsafe { self.get_unchecked_mut() };
        this.polled = true;
        // SAFETY: as above.
        unsafe { Pin::new_unchecked(&mut *this.future) }.poll(cx)
    }
}

impl<F> Drop for Checked<F> {
    /// Drops the future, or panics on another thread, where it must not be touched. There a future
    /// that was never polled is leaked. A future that was polled is pinned, so it cannot be left
    /// behind in memory that is freed, and the panic ends the program.
    #[inline]
    fn drop(&mut self) {
        if !self.is_at_home() {
            let fail = || wrong_thread("dropped", self.spawned);
            match self.polled {
                true => unwind::or_abort(|| DROPPED_ELSEWHERE, fail),
                false => fail(),
            }
        }
        // SAFETY: dropped here, once.
        unsafe { ManuallyDrop::drop(&mut self.future) };
    }
}
