//! [`from_future`]: the way from a future to a shared one.

use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use super::{Sender, Shared, channel};

/// A future in two parts: one that runs it, to be spawned on any executor, and one for as many as want its output.
///
/// # Example
/// ```
/// let (driver, shared) = joint::shared::from_future(async { 6 * 7 });
/// joint::spawn(driver).detach();
/// let other = shared.clone();
/// assert_eq!(joint::block_on(shared), Ok(42));
/// assert_eq!(other.get(), Some(&42));
/// ```
#[doc(alias = "remote_handle")]
pub fn from_future<F: Future>(future: F) -> (Driver<F>, Shared<F::Output>) {
    let (sender, shared) = channel();
    let driver = Driver {
        future,
        sender: Some(sender),
    };
    (driver, shared)
}

/// The part of [`from_future`] that runs the future, and sends its output.
///
/// It runs to its end even if every [`Shared`] has gone. If it is dropped before that, it closes:
/// all who wait learn that nothing will come. A panic of the future passes through and closes
/// nothing by itself; whoever catches it has to drop the driver, as an executor does with a task
/// that panics. Polled after its end, it is ready at once.
#[must_use = "the future does not run unless this is spawned or awaited"]
pub struct Driver<F: Future> {
    /// Pinned with the whole. It is moved nowhere, and this type has neither a destructor nor an `Unpin` of its own.
    future: F,
    /// None once the output is sent.
    sender: Option<Sender<F::Output>>,
}

impl<F: Future> Future for Driver<F> {
    type Output = ();

    /// # Panics
    /// When the future's `poll` does, or the waker of one who waits, or where the output has to be dropped, its destructor.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out of it but the sender, which is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        if this.sender.is_none() {
            return Poll::Ready(());
        }
        // SAFETY: the field of a pinned value, which is treated as pinned everywhere.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let output = ready!(future.poll(cx));
        if let Some(sender) = this.sender.take() {
            sender.send(output);
        }
        Poll::Ready(())
    }
}

impl<F: Future> fmt::Debug for Driver<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("is_finished", &self.sender.is_none())
            .finish()
    }
}
