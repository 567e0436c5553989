//! [`Task`] and [`FallibleTask`]: the handles that wait for a task, cancel it or detach it.
//!
//! `joint`'s handle does the work. This adds what only upstream's handle promises: that it can be
//! polled again after its end, and that cancelling wakes the previous awaiter.

use core::{
    fmt,
    future::poll_fn,
    mem::ManuallyDrop,
    pin::Pin,
    ptr,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll, Waker, ready},
};

use joint::task::{JoinError, JoinHandle, JoinResult};

use crate::Metadata;

/// Awaits a task, and owns it. Dropping it cancels the task.
///
/// # Panics
/// If the task was cancelled, awaiting it panics. If the task panicked and
/// [propagates](crate::Builder::propagate_panic) panics, awaiting it panics with the same panic.
#[must_use = "dropping a task cancels it: await it, or `detach` it"]
pub struct Task<T, M = ()> {
    join: JoinResult<Option<T>, Metadata<M>>,
    /// The waker that `join` has registered, which is woken if the task is cancelled here.
    waiter: Option<Waker>,
    /// Whether the result has been taken.
    ended: bool,
}

// SAFETY: a shared reference reaches only the metadata, which may be shared, and atomics.
unsafe impl<T, M: Send + Sync> Sync for Task<T, M> {}

impl<T, M> Task<T, M> {
    pub(crate) fn new(handle: JoinHandle<Option<T>, Metadata<M>>) -> Self {
        Self {
            join: handle.result(),
            waiter: None,
            ended: false,
        }
    }

    /// Lets the task run on its own. Its output is dropped on the thread where it ends.
    pub fn detach(mut self) {
        self.waiter = None;
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used or dropped after this, and its waker is gone.
        let join = unsafe { ptr::read(&this.join) };
        join.into_handle().detach();
    }

    /// Cancels the task, and waits until its future is dropped. Returns the output if the task had
    /// ended already.
    pub async fn cancel(mut self) -> Option<T> {
        let finished = self.is_finished();
        if !finished {
            self.join.handle().metadata().cancelled.store(true, Relaxed);
            self.join.handle().abort();
            self.wake_waiter();
        }
        poll_fn(|cx| match self.poll_join(cx) {
            // Nothing awaits an output or a panic that arrived meanwhile: the task counts as
            // cancelled.
            Poll::Ready(_) if !finished => Poll::Ready(None),
            result => result.map(value),
        })
        .await
    }

    /// Awaits the task as an option, which is `None` if the task was cancelled.
    pub fn fallible(self) -> FallibleTask<T, M> {
        FallibleTask { task: self }
    }

    /// Returns whether the task has ended, so that awaiting it would not wait.
    pub fn is_finished(&self) -> bool {
        self.join.handle().is_finished()
    }

    /// Returns the metadata that the task was made with.
    pub fn metadata(&self) -> &M {
        &self.join.handle().metadata().user
    }

    /// Always ready once the task has ended: with its output once, and with `None` after that.
    fn poll_join(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<T>, JoinError>> {
        if self.ended {
            return Poll::Ready(Ok(None));
        }
        let poll = Pin::new(&mut self.join).poll(cx);
        self.ended = poll.is_ready();
        poll
    }

    /// Does the same as `poll_join`, and keeps the waker.
    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<T>, JoinError>> {
        let poll = self.poll_join(cx);
        if poll.is_ready() {
            self.waiter = None;
        } else if let Some(waiter) = &mut self.waiter {
            waiter.clone_from(cx.waker());
        } else {
            self.waiter = Some(cx.waker().clone());
        }
        poll
    }

    /// Cancels a task that is awaited, and wakes the awaiter.
    fn wake_waiter(&mut self) {
        let Some(waiter) = self.waiter.take() else {
            return;
        };
        let handle = self.join.handle();
        handle.abort();
        // The end of the task wakes the awaiter by itself.
        if !handle.is_finished() {
            waiter.wake();
        }
    }
}

/// Returns the output, or resumes the panic of the task.
fn value<T>(result: Result<Option<T>, JoinError>) -> Option<T> {
    match result {
        Ok(output) => output,
        Err(JoinError::Cancelled(_)) => None,
        Err(JoinError::Panicked(payload)) => payload.resume(),
    }
}

impl<T, M> Future for Task<T, M> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let output = value(ready!(self.poll_result(cx)));
        // The words are upstream's, for users who search for them.
        Poll::Ready(output.expect("Task polled after completion"))
    }
}

impl<T, M> Drop for Task<T, M> {
    /// The handle is dropped right after this, which cancels the task.
    fn drop(&mut self) {
        self.wake_waiter();
    }
}

impl<T, M: fmt::Debug> fmt::Debug for Task<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("task", self.join.handle())
            .field("metadata", self.metadata())
            .finish()
    }
}

/// Awaits a task as an option, which is `None` if the task was cancelled. Dropping it cancels the
/// task.
#[must_use = "dropping a task cancels it: await it, or `detach` it"]
pub struct FallibleTask<T, M = ()> {
    task: Task<T, M>,
}

impl<T, M> FallibleTask<T, M> {
    /// As [`Task::detach`].
    pub fn detach(self) {
        self.task.detach();
    }

    /// As [`Task::cancel`].
    pub async fn cancel(self) -> Option<T> {
        self.task.cancel().await
    }

    /// As [`Task::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl<T, M> Future for FallibleTask<T, M> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.task.poll_result(cx).map(value)
    }
}

impl<T, M: fmt::Debug> fmt::Debug for FallibleTask<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallibleTask")
            .field("task", &self.task)
            .finish()
    }
}
