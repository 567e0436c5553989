//! [`Task`] and [`FallibleTask`]: who waits for a task, or cancels it, or lets it go.
//!
//! `joint`'s handle does the work. What is kept beside it is what upstream's handle shows to the
//! world: that it can be polled again after its end, and that cancelling wakes whoever had been
//! waiting.

use core::{
    fmt,
    future::{Future, poll_fn},
    mem::ManuallyDrop,
    pin::Pin,
    ptr,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll, Waker, ready},
};

use joint::task::{JoinError, JoinHandle, JoinResult};

use crate::Metadata;

/// Awaits a task, and owns it: dropped, it cancels the task.
///
/// # Panics
/// Awaiting it panics when the task was cancelled, and with the panic of a task that
/// [propagates](crate::Builder::propagate_panic) it.
#[must_use = "dropping a task cancels it: await it, or `detach` it"]
pub struct Task<T, M = ()> {
    join: JoinResult<Option<T>, Metadata<M>>,
    /// The waker that `join` has registered, to be woken should the task be cancelled here.
    waiter: Option<Waker>,
    /// The result has been taken.
    ended: bool,
}

// SAFETY: by reference only the metadata is reached, which may be shared; all else is atomic.
unsafe impl<T, M: Send + Sync> Sync for Task<T, M> {}

impl<T, M> Task<T, M> {
    pub(crate) fn new(handle: JoinHandle<Option<T>, Metadata<M>>) -> Self {
        Self {
            join: handle.result(),
            waiter: None,
            ended: false,
        }
    }

    /// Lets the task run on by itself. Its output will be dropped where it ends.
    pub fn detach(mut self) {
        self.waiter = None;
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used or dropped after this; its waker is gone.
        let join = unsafe { ptr::read(&this.join) };
        join.into_handle().detach();
    }

    /// Cancels the task, and waits until its future is gone: `Some` if it had ended already.
    pub async fn cancel(mut self) -> Option<T> {
        let finished = self.is_finished();
        if !finished {
            self.join.handle().metadata().cancelled.store(true, Relaxed);
            self.join.handle().abort();
            self.wake_waiter();
        }
        poll_fn(|cx| match self.poll_join(cx) {
            // An output that came meanwhile, or a panic, is for nobody: the task counts as
            // cancelled.
            Poll::Ready(_) if !finished => Poll::Ready(None),
            result => result.map(value),
        })
        .await
    }

    /// Awaits the task as an option: `None` when it was cancelled.
    pub fn fallible(self) -> FallibleTask<T, M> {
        FallibleTask { task: self }
    }

    /// Whether the task has ended, so that awaiting it would not wait.
    pub fn is_finished(&self) -> bool {
        self.join.handle().is_finished()
    }

    /// The metadata that the task was made with.
    pub fn metadata(&self) -> &M {
        &self.join.handle().metadata().user
    }

    /// Ready for ever once the task has ended: with its output once, with `None` from then on.
    fn poll_join(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<T>, JoinError>> {
        if self.ended {
            return Poll::Ready(Ok(None));
        }
        let poll = Pin::new(&mut self.join).poll(cx);
        self.ended = poll.is_ready();
        poll
    }

    /// As `poll_join`, and keeps the waker.
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

    /// Cancels a task that somebody waits for, and wakes them.
    fn wake_waiter(&mut self) {
        let Some(waiter) = self.waiter.take() else {
            return;
        };
        let handle = self.join.handle();
        handle.abort();
        // The end of the task wakes by itself.
        if !handle.is_finished() {
            waiter.wake();
        }
    }
}

/// The output, or the panic of the task.
fn value<T>(result: Result<Option<T>, JoinError>) -> Option<T> {
    match result {
        Ok(output) => output,
        Err(JoinError::Cancelled) => None,
        Err(JoinError::Panicked(payload)) => payload.resume(),
    }
}

impl<T, M> Future for Task<T, M> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let output = value(ready!(self.poll_result(cx)));
        // The words are upstream's, for those who look for them.
        Poll::Ready(output.expect("Task polled after completion"))
    }
}

impl<T, M> Drop for Task<T, M> {
    /// The handle cancels when it is dropped, right after this.
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

/// Awaits a task as an option: `None` when it was cancelled. Dropped, it cancels the task.
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
