//! [`from_future`]: makes a [`Shared`] of a future.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use super::{Sender, Shared, channel};

/// Splits a future into a [`Driver`] that runs it, to be spawned on any executor, and a [`Shared`]
/// for any number of waiters for its output.
///
/// # Example
/// ```
/// let (driver, shared) = joint_flow::shared::from_future(async { 6 * 7 });
/// std::thread::spawn(|| joint::block_on(driver));
/// let other = shared.clone();
/// assert_eq!(joint::block_on(shared), Ok(42));
/// assert_eq!(other.get(), Some(&42));
/// ```
pub fn from_future<F: Future>(future: F) -> (Driver<F, F::Output>, Shared<F::Output>) {
    let (sender, shared) = channel();
    let driver = Driver {
        future,
        sender: Some(sender),
    };
    (driver, shared)
}

pin_project! {
    /// The part of [`from_future`] that runs the future, and sends its output.
    ///
    /// It runs to its end even if every [`Shared`] was dropped. If it is dropped before the end,
    /// all waiters get [`Closed`](super::Closed). A panic of the future passes through and closes
    /// nothing by itself. Code that catches the panic has to drop the driver, as an executor does
    /// with a task that panics. If the driver is polled after its end, it is ready at once.
    #[must_use = "the future does not run unless this is spawned or awaited"]
    pub struct Driver<F, T> {
        #[pin]
        future: F,
        // `None` once the output was sent.
        sender: Option<Sender<T>>,
    }
}

impl<F: Future> Future for Driver<F, F::Output> {
    type Output = ();

    /// # Panics
    /// Passes on a panic of the future's `poll`, of a waiter's waker, or of the output's
    /// destructor, if the output has to be dropped.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.sender.is_none() {
            return Poll::Ready(());
        }
        let output = ready!(this.future.poll(cx));
        if let Some(sender) = this.sender.take() {
            sender.send(output);
        }
        Poll::Ready(())
    }
}

debug!(<F, T> Driver<F, T>, |it| is_finished: it.sender.is_none());
