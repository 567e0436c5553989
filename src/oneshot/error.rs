//! The errors of a channel.

use core::fmt;

pub(super) const CLOSED: &str = "receiving on a closed channel";

/// The error of [`Sender::send`](super::Sender::send): the receiver was dropped or closed before
/// the value was sent. It contains the value.
///
/// # Example
/// ```
/// let (sender, receiver) = joint::oneshot::channel();
/// drop(receiver);
/// assert_eq!(sender.send(7).unwrap_err().into_inner(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> SendError<T> {
    /// Returns the value that was not sent.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SendError").finish_non_exhaustive()
    }
}

says!(SendError<T>: Self(_) => "sending on a closed channel");

/// The error of receiving when there is no value and there will be none: the sender was dropped
/// without sending, the receiver was closed before a value was sent, or the value has been received
/// already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecvError;

says!(RecvError: Self => CLOSED);

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TryRecvError {
    /// There is no value yet. The sender may still send.
    Empty,
    /// As for [`RecvError`].
    Closed,
}

says!(TryRecvError: Self::Empty => "receiving on an empty channel", Self::Closed => CLOSED);

impl From<RecvError> for TryRecvError {
    fn from(RecvError: RecvError) -> Self {
        Self::Closed
    }
}
