//! loom's channel, recorded.
//!
//! In loom, a receiver is not told that all senders are dropped: [`Receiver::recv`] then waits
//! forever, which fails the model.

use std::{
    panic::Location,
    sync::mpsc::{RecvError, SendError, TryRecvError},
};

use crate::{event::Step, recorder};

/// Works as [`std::sync::mpsc::channel`].
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let place = recorder::made("channel", 0, Location::caller());
    let (sender, receiver) = loom::sync::mpsc::channel();
    (Sender(sender, place), Receiver(receiver, place))
}

/// [`loom::sync::mpsc::Sender`].
#[derive(Debug)]
pub struct Sender<T>(loom::sync::mpsc::Sender<T>, u64);

named! { Sender<T> }

impl<T> Sender<T> {
    /// Works as [`std::sync::mpsc::Sender::send`].
    ///
    /// # Errors
    /// Returns the message if the receiver is dropped.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        record!(self.1, Step::Send, self.0.send(message))
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1)
    }
}

/// [`loom::sync::mpsc::Receiver`].
#[derive(Debug)]
pub struct Receiver<T>(loom::sync::mpsc::Receiver<T>, u64);

impl<T> Receiver<T> {
    /// Works as [`std::sync::mpsc::Receiver::recv`], while a sender is left.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        record!(self.1, Step::Receive, self.0.recv())
    }

    /// Works as [`std::sync::mpsc::Receiver::try_recv`], while a sender is left.
    ///
    /// # Errors
    /// Returns an error if there is no message.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let received = self.0.try_recv()?;
        recorder::now(self.1, Step::Receive, Location::caller());
        Ok(received)
    }
}
