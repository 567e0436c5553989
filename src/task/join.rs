//! The futures that a [`JoinHandle`] can be turned into, which give something other than the plain
//! output.

use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::{CancelledTask, JoinError, JoinHandle};

/// The future of [`JoinHandle::result`]. Dropping it cancels the task.
#[must_use = "futures do nothing unless awaited; dropping this one cancels the task"]
pub struct JoinResult<T, M = ()> {
    pub(super) handle: JoinHandle<T, M>,
}

impl<T, M> Future for JoinResult<T, M> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// Panics if it is polled again after it was ready.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.handle.poll_ended(cx).map(|ended| match ended {
            Some(ended) => ended.map_err(JoinError::Panicked),
            None => Err(JoinError::Cancelled(CancelledTask::of(self.handle.view()))),
        })
    }
}

/// The future of [`JoinHandle::fallible`] and of [`JoinHandle::cancel`]: the output, or `None` if
/// the task was cancelled. It is ready once the task's future has been dropped. Dropping it cancels
/// the task.
#[must_use = "await this to know how the task ends; dropping it cancels the task"]
pub struct Fallible<T, M = ()> {
    pub(super) handle: JoinHandle<T, M>,
}

impl<T, M> Future for Fallible<T, M> {
    type Output = Option<T>;

    /// # Panics
    /// Resumes the panic of the task. Panics if it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.handle.poll_ended(cx).map(|ended| match ended? {
            Ok(output) => Some(output),
            Err(payload) => payload.resume(),
        })
    }
}

/// Implements what these futures share, which is access to the handle that they own.
macro_rules! owns_handle {
    ($($name:ident),*) => {$(
        impl<T, M> $name<T, M> {
            /// Returns the handle by reference, for example to abort the task or to inspect it.
            pub fn handle(&self) -> &JoinHandle<T, M> {
                &self.handle
            }

            /// Returns the handle.
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

owns_handle!(JoinResult, Fallible);
