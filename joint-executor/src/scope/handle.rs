//! [`ScopedHandle`]: the handle of a child of a scope.

use core::{
    fmt,
    future::{Future, poll_fn},
    panic::Location,
    pin::Pin,
    task::{Context, Poll},
};

use super::{Held, Inner};
use joint::{
    oneshot,
    task::{CancelledTask, JoinError},
};

/// Awaits a child of a scope. If the handle is dropped, the child runs on, and the scope waits for
/// it.
///
/// # Awaiting
/// The handle is a future of the child's output. On a thread outside the executor,
/// [`block_on`](joint::block_on) waits for it. If the child panicked, the panic continues in the
/// awaiting task; if it was cancelled, awaiting it panics with a message that says so. Await
/// [`result`](ScopedHandle::result) to get either case as a value. Where no handle has returned a
/// panic or a cancellation, the scope panics.
///
/// # Dropping
/// The output of a child that has ended is dropped with the handle. If the child ends later, it
/// drops the output itself. In both cases a panic of that drop is caught, and is the scope's.
///
/// Everything that the child did happens before the awaiting task continues.
///
/// # Example
/// ```
/// let text = String::from("borrowed");
/// joint_executor::scope(|s| {
///     let length = s.spawn(async { text.len() });
///     assert_eq!(joint_executor::block_on(length), 8);
/// });
/// ```
pub struct ScopedHandle<'scope, T> {
    pub(super) receiver: oneshot::Receiver<Result<T, Held>>,
    pub(super) inner: &'scope Inner,
    pub(super) spawned: &'static Location<'static>,
}

impl<T> ScopedHandle<'_, T> {
    /// Returns whether the child has ended, by an output, a panic or a cancellation, so that
    /// awaiting it would not wait.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Awaits the child's end as a value: its output, or the reason why there is none.
    ///
    /// # Example
    /// ```
    /// joint_executor::scope(|s| {
    ///     let child = s.spawn(async { panic!("no") });
    ///     let error = joint_executor::block_on(child.result()).unwrap_err();
    ///     assert!(error.to_string().ends_with("panicked: no"));
    /// });
    /// ```
    pub async fn result(mut self) -> Result<T, JoinError> {
        poll_fn(|cx| self.poll_result(cx)).await
    }

    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let poll = Pin::new(&mut self.receiver).poll(cx);
        poll.map(|received| match received {
            Ok(result) => result.map_err(|held| self.inner.take(held)),
            Err(_) => Err(JoinError::Cancelled(CancelledTask::new(self.spawned))),
        })
    }
}

impl<T> Future for ScopedHandle<'_, T> {
    type Output = T;

    /// # Panics
    /// With the panic of the child; if the child was cancelled; or if it is polled again after it
    /// was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.poll_result(cx).map(|result| match result {
            Ok(output) => output,
            Err(JoinError::Panicked(payload)) => payload.resume(),
            Err(JoinError::Cancelled(_)) => panic!(
                "awaited a child that was cancelled by a panic of its scope or by the end of its \
                     executor, or whose output was returned already; await `ScopedHandle::result` \
                     to get this as a value"
            ),
        })
    }
}

impl<T> Drop for ScopedHandle<'_, T> {
    /// Hands a failure that was not taken to the scope.
    fn drop(&mut self) {
        self.receiver.close();
        if let Ok(result) = self.receiver.try_recv() {
            self.inner.drop_result(result, self.spawned);
        }
    }
}

impl<T> fmt::Debug for ScopedHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
