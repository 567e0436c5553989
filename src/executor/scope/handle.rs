//! [`ScopedHandle`]: the one who waits for a child of a scope.

use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::Inner;
use crate::{oneshot, task::JoinError};

/// Awaits a child of a scope. Dropped, it lets the child run on: the scope waits for it.
///
/// # Awaiting
/// The handle is a future of the child's output, and [`block_on`](crate::block_on) waits for it on a thread outside of the executor.
/// A panic of the child goes on in the one who awaits it, and so does its cancellation, as a panic that says so. Await
/// [`result`](ScopedHandle::result) to have either as a value. A panic that no handle has given out is the scope's.
///
/// All that the child did happens before the one who awaits it goes on.
///
/// # Example
/// ```
/// let text = String::from("borrowed");
/// joint::scope(|s| {
///     let length = s.spawn(async { text.len() });
///     assert_eq!(joint::block_on(length), 8);
/// });
/// ```
pub struct ScopedHandle<'scope, T>(ScopedResult<'scope, T>);

/// The future of [`ScopedHandle::result`].
#[must_use = "futures do nothing unless awaited"]
pub struct ScopedResult<'scope, T> {
    receiver: oneshot::Receiver<Result<T, JoinError>>,
    inner: &'scope Inner,
}

impl<'scope, T> ScopedHandle<'scope, T> {
    pub(super) fn new(
        receiver: oneshot::Receiver<Result<T, JoinError>>,
        inner: &'scope Inner,
    ) -> Self {
        Self(ScopedResult { receiver, inner })
    }

    /// Whether the child has ended, by an output, a panic or its cancellation, so that awaiting it would not wait.
    pub fn is_finished(&self) -> bool {
        self.0.receiver.is_finished()
    }

    /// Awaits the child as a value: its output, or why there is none.
    ///
    /// # Example
    /// ```
    /// joint::scope(|s| {
    ///     let child = s.spawn(async { panic!("no") });
    ///     let error = joint::block_on(child.result()).unwrap_err();
    ///     assert!(error.to_string().ends_with("panicked: no"));
    /// });
    /// ```
    pub fn result(self) -> ScopedResult<'scope, T> {
        self.0
    }
}

impl<T> Future for ScopedResult<'_, T> {
    type Output = Result<T, JoinError>;

    /// Polled again after it was ready, it says that the child was cancelled.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = Pin::new(&mut self.receiver).poll(cx);
        poll.map(|received| received.unwrap_or(Err(JoinError::Cancelled)))
    }
}

impl<T> Future for ScopedHandle<'_, T> {
    type Output = T;

    /// # Panics
    /// With the panic of the child; when the child was cancelled; when polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|result| match result {
                Ok(output) => output,
                Err(JoinError::Panicked(payload)) => payload.resume(),
                Err(JoinError::Cancelled) => panic!(
                    "awaited a child that was cancelled, by a panic of its scope or by the end of its executor, or that has \
                     given its output already; await `ScopedHandle::result` to have that as a value"
                ),
            })
    }
}

impl<T> Drop for ScopedResult<'_, T> {
    /// A panic that was not taken is the scope's.
    fn drop(&mut self) {
        self.receiver.close();
        if let Ok(result) = self.receiver.try_recv() {
            self.inner.note(result.map(drop));
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

impl<T> fmt::Debug for ScopedResult<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedResult")
            .field("is_finished", &self.receiver.is_finished())
            .finish()
    }
}
