//! The sending end.

use joint::oneshot::{self, SendError as Refused};

use crate::SendError;

/// The sending end. If it is dropped without sending, the receiver's calls end with an error.
#[derive(Debug)]
pub struct Sender<T>(oneshot::Sender<T>);

// SAFETY: a reference to a sender only makes an atomic load.
unsafe impl<T> Sync for Sender<T> {}

impl<T> Sender<T> {
    pub(crate) fn new(sender: oneshot::Sender<T>) -> Self {
        Self(sender)
    }

    /// Sends the value, and wakes the receiver if it waits. It never blocks or spins, whatever the
    /// receiver does.
    ///
    /// # Errors
    /// Returns the value in a [`SendError`] if the receiver has been dropped.
    #[inline]
    pub fn send(self, message: T) -> Result<(), SendError<T>> {
        let sent = self.0.send(message);
        sent.map_err(|Refused(message)| SendError::new(message))
    }

    /// Returns whether the receiver has been dropped, so that [`send`](Sender::send) would fail.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Turns the sender into a pointer for [`Sender::from_raw`].
    #[inline]
    pub fn into_raw(self) -> *mut () {
        self.0.into_raw()
    }

    /// Turns a pointer from [`Sender::into_raw`] back into the sender.
    ///
    /// # Safety
    /// `raw` came from [`Sender::into_raw`] of a sender with the same `T`, which was called once
    /// for each call of this function.
    #[inline]
    pub unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: passed on from the caller.
        Self(unsafe { oneshot::Sender::from_raw(raw) })
    }
}
