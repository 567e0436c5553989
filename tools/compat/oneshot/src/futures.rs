//! The API of `futures::channel::oneshot` on [`joint::oneshot`]: with
//! `use ::oneshot::futures as oneshot` it takes the place of `use futures::channel::oneshot`.
//!
//! ```
//! use ::oneshot::futures::{self as oneshot, Canceled};
//!
//! let (sender, mut receiver) = oneshot::channel();
//! assert_eq!(receiver.try_recv(), Ok(None));
//! sender.send(1).unwrap();
//! assert_eq!(receiver.try_recv(), Ok(Some(1)));
//! assert_eq!(receiver.try_recv(), Err(Canceled));
//! ```

use core::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::FusedFuture;
use joint::oneshot::{self, RecvError, SendError, TryRecvError};

/// Creates a channel for one value, and returns its two ends.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = oneshot::channel();
    (Sender(sender), Receiver(receiver))
}

/// The sending end. If it is dropped without sending, the receiver ends with [`Canceled`].
#[derive(Debug)]
pub struct Sender<T>(oneshot::Sender<T>);

impl<T> Sender<T> {
    /// Sends the value, and wakes the receiver if it waits.
    ///
    /// # Errors
    /// Returns the value if the receiver has been dropped or closed.
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        self.0.send(value).map_err(SendError::into_inner)
    }

    /// Polls for the end of the receiver: ready once it has been dropped or closed.
    #[inline]
    pub fn poll_canceled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_closed(cx)
    }

    /// Waits until the receiver is dropped or closed.
    #[inline]
    pub fn cancellation(&mut self) -> Cancellation<'_, T> {
        Cancellation(self)
    }

    /// Returns whether the receiver has been dropped or closed.
    #[inline]
    pub fn is_canceled(&self) -> bool {
        self.0.is_closed()
    }

    /// Returns whether `receiver` is the other end of this channel, and has not been closed.
    #[inline]
    pub fn is_connected_to(&self, receiver: &Receiver<T>) -> bool {
        self.0.is_connected_to(&receiver.0)
    }
}

/// The future of [`Sender::cancellation`].
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Cancellation<'a, T>(&'a mut Sender<T>);

impl<T> Future for Cancellation<'_, T> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_canceled(cx)
    }
}

/// The error of a [`Receiver`] for which there will be no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canceled;

impl fmt::Display for Canceled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("oneshot canceled")
    }
}

impl Error for Canceled {}

impl From<RecvError> for Canceled {
    fn from(RecvError: RecvError) -> Self {
        Self
    }
}

/// The receiving end: a future. Dropping it closes the channel, and drops a value that was sent.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Receiver<T>(oneshot::Receiver<T>);

impl<T> Receiver<T> {
    /// Closes the channel, so that no value can be sent from now on. One that was sent before can
    /// still be received.
    #[inline]
    pub fn close(&mut self) {
        self.0.close();
    }

    /// Takes the value if it has been sent. `None` means that the sender may still send.
    ///
    /// # Errors
    /// [`Canceled`] if there is no value and there will be none.
    #[inline]
    pub fn try_recv(&mut self) -> Result<Option<T>, Canceled> {
        match self.0.try_recv() {
            Ok(value) => Ok(Some(value)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Closed) => Err(Canceled),
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, Canceled>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_err(Into::into)
    }
}

impl<T> FusedFuture for Receiver<T> {
    #[inline]
    fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }
}
