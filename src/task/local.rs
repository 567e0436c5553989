//! [`Checked`]: a future that must stay on its thread, in a task that may be sent to other threads.

use core::{
    future::Future,
    mem::ManuallyDrop,
    panic::Location,
    pin::Pin,
    task::{Context, Poll},
};

use super::unwind::AbortOnUnwind;
use joint_switch::{this_thread, thread::ThreadId};

/// A future that panics if it is polled or dropped on a thread other than the one that made it.
pub(super) struct Checked<F> {
    future: ManuallyDrop<F>,
    thread: ThreadId,
    spawned: &'static Location<'static>,
    /// Whether the future was polled. If so, it is pinned, and its memory must not be reused before
    /// it is dropped.
    polled: bool,
}

impl<F> Checked<F> {
    pub(super) fn new(future: F, spawned: &'static Location<'static>) -> Self {
        Self {
            future: ManuallyDrop::new(future),
            thread: this_thread(),
            spawned,
            polled: false,
        }
    }

    fn is_at_home(&self) -> bool {
        self.thread == this_thread()
    }
}

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
            let _end = self.polled.then(|| {
                AbortOnUnwind(
                    || "a local future that has been polled must be dropped by the thread that polled it",
                )
            });
            wrong_thread("dropped", self.spawned);
        }
        // SAFETY: dropped here, once.
        unsafe { ManuallyDrop::drop(&mut self.future) };
    }
}
