//! What a [`JoinHandle`] turns into, to be awaited for something else than the output.

use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::{JoinError, JoinHandle};

/// The future of [`JoinHandle::result`]. Dropped, it cancels the task.
#[must_use = "futures do nothing unless awaited; dropping this one cancels the task"]
pub struct JoinResult<T, M = ()> {
    handle: JoinHandle<T, M>,
}

impl<T, M> Future for JoinResult<T, M> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// When polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.handle.poll_result(cx)
    }
}

/// The future of [`JoinHandle::fallible`]: the output, or `None` when the task was cancelled. Dropped, it cancels the task.
#[must_use = "futures do nothing unless awaited; dropping this one cancels the task"]
pub struct Fallible<T, M = ()> {
    handle: JoinHandle<T, M>,
}

impl<T, M> Future for Fallible<T, M> {
    type Output = Option<T>;

    /// # Panics
    /// With the panic of the task; when polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.handle.poll_option(cx)
    }
}

/// The future of [`JoinHandle::cancel`]: the output if the task came to it all the same, or else `None`, once the future is gone.
///
/// Dropped, it lets the cancelled task end by itself.
#[must_use = "the task is cancelled already; await this to know that it has ended, or drop it"]
pub struct Cancel<T, M = ()> {
    handle: JoinHandle<T, M>,
}

impl<T, M> Future for Cancel<T, M> {
    type Output = Option<T>;

    /// # Panics
    /// With the panic of the task; when polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.handle.poll_option(cx)
    }
}

impl<T, M> JoinHandle<T, M> {
    fn poll_option(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_result(cx).map(|result| match result {
            Ok(output) => Some(output),
            Err(JoinError::Cancelled) => None,
            Err(panicked) => self.raise(panicked),
        })
    }
}

/// What all of them have from the handle that they own.
macro_rules! owns_handle {
    ($($name:ident),*) => {$(
        impl<T, M> $name<T, M> {
            pub(super) fn new(handle: JoinHandle<T, M>) -> Self {
                Self { handle }
            }

            /// The handle itself: to detach or abort the task, or to look at it.
            pub fn handle(&self) -> &JoinHandle<T, M> {
                &self.handle
            }

            /// Gives the handle back.
            pub fn into_handle(self) -> JoinHandle<T, M> {
                self.handle
            }
        }

        impl<T, M> fmt::Debug for $name<T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.handle).finish()
            }
        }
    )*};
}

owns_handle!(JoinResult, Fallible, Cancel);
