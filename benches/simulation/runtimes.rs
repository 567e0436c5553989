//! The runtimes that the programs run on, apart from a simulation.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use super::bugs::Runtime;

/// tokio's.
pub(crate) struct Tokio;

impl Runtime for Tokio {
    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + Unpin
    where
        F: Future<Output: Send> + Send + 'static,
    {
        CancelledByDrop {
            handle: tokio::spawn(future),
            abort: tokio::task::JoinHandle::abort,
            has_ended: false,
        }
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

/// Awaits a task, and cancels it if it is dropped before, as joint's handle does.
pub(crate) struct CancelledByDrop<H> {
    pub(crate) handle: H,
    pub(crate) abort: fn(&H),
    pub(crate) has_ended: bool,
}

impl<H, T, E> Future for CancelledByDrop<H>
where
    H: Future<Output = Result<T, E>> + Unpin,
    E: std::fmt::Debug,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let output = ready!(Pin::new(&mut self.handle).poll(cx));
        self.has_ended = true;
        Poll::Ready(output.expect("the task has ended"))
    }
}

impl<H> Drop for CancelledByDrop<H> {
    fn drop(&mut self) {
        // After a panic, the run has failed already.
        if !self.has_ended && !std::thread::panicking() {
            (self.abort)(&self.handle);
        }
    }
}
