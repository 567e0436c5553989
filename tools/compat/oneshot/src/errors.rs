//! The errors, by upstream's names and with its words.

use alloc::boxed::Box;
use core::{any::type_name, error::Error, fmt};

/// The error of [`Sender::send`](crate::Sender::send): the receiver was dropped before. It contains
/// the value, in a box, so that a large one does not make each `send` large.
pub struct SendError<T>(Box<T>);

impl<T> SendError<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Box::new(value))
    }

    /// Returns the value that was not sent.
    pub fn into_inner(self) -> T {
        *self.0
    }

    /// Returns a reference to the value that was not sent.
    pub fn as_inner(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendError<{}>(_)", type_name::<T>())
    }
}

/// Why [`Receiver::try_recv`](crate::Receiver::try_recv) has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TryRecvError {
    /// There is no value yet. The sender may still send.
    Empty,
    /// The sender was dropped without sending, or the value has been received.
    Disconnected,
}

/// Why [`Receiver::recv_timeout`](crate::Receiver::recv_timeout) or
/// [`Receiver::recv_deadline`](crate::Receiver::recv_deadline) has no value.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecvTimeoutError {
    /// The time has passed. The sender may still send.
    Timeout,
    /// The sender was dropped without sending, or the value has been received.
    Disconnected,
}

macro_rules! says {
    ($error:ident $(<$t:ident>)?: $($case:pat => $text:expr),+) => {
        impl $(<$t>)? fmt::Display for $error $(<$t>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $($case => $text),+
                })
            }
        }

        impl $(<$t>)? Error for $error $(<$t>)? {}
    };
}

says!(SendError<T>: _ => "sending on a closed channel");
says!(TryRecvError:
    Self::Empty => "receiving on an empty channel",
    Self::Disconnected => "receiving on a closed channel");
#[cfg(feature = "std")]
says!(RecvTimeoutError:
    Self::Timeout => "timed out waiting on channel",
    Self::Disconnected => "channel is empty and sending half is closed");
