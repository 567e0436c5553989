//! The receiver's calls that block the thread.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use super::{Receiver, RecvError, error::CLOSED};
use crate::{host, park};

impl<T> Receiver<T> {
    /// Blocks the thread until the value is sent or the sender is dropped.
    ///
    /// # Cost
    /// One load if the answer is known already. A call on a worker of an executor blocks that
    /// worker, so await there instead.
    ///
    /// # Errors
    /// [`RecvError`] if there is no value and there will be none.
    ///
    /// # Example
    /// ```
    /// let (sender, receiver) = joint::oneshot::channel();
    /// std::thread::spawn(move || sender.send(3));
    /// assert_eq!(receiver.blocking_recv(), Ok(3));
    /// ```
    #[inline]
    #[doc(alias = "recv")]
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_recv(mut self) -> Result<T, RecvError> {
        match self.answer() {
            Some(answer) => answer,
            None => park::block_on(self),
        }
    }

    /// Blocks as [`blocking_recv`](Receiver::blocking_recv) does, but for `limit` at most. A limit
    /// beyond the range of the clock is no limit. A limit of zero only checks, and registers
    /// nothing.
    ///
    /// # Errors
    /// [`Timeout`](RecvTimeoutError::Timeout) if the limit has passed; the receiver may be used
    /// again. [`Closed`](RecvTimeoutError::Closed) if there is no value and there will be none.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot::{self, RecvTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (sender, mut receiver) = oneshot::channel::<u32>();
    /// let limit = Duration::from_millis(1);
    /// assert_eq!(receiver.blocking_recv_timeout(limit), Err(RecvTimeoutError::Timeout));
    /// drop(sender);
    /// assert_eq!(receiver.blocking_recv_timeout(limit), Err(RecvTimeoutError::Closed));
    /// ```
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_recv_timeout(&mut self, limit: Duration) -> Result<T, RecvTimeoutError> {
        let answer = match self.answer() {
            None if !limit.is_zero() => park::block_on_timeout(Pin::new(self), limit),
            answer => answer,
        };
        Ok(answer.ok_or(RecvTimeoutError::Timeout)??)
    }

    /// Blocks as [`blocking_recv`](Receiver::blocking_recv) does, but until `deadline` at most. If
    /// the deadline has passed, it only checks.
    ///
    /// # Errors
    /// As for [`blocking_recv_timeout`](Receiver::blocking_recv_timeout).
    ///
    /// # Example
    /// ```
    /// use joint::oneshot::{self, RecvTimeoutError};
    /// use std::time::Instant;
    ///
    /// let (sender, mut receiver) = oneshot::channel();
    /// let past = Instant::now();
    /// assert_eq!(receiver.blocking_recv_deadline(past), Err(RecvTimeoutError::Timeout));
    /// sender.send(4).unwrap();
    /// assert_eq!(receiver.blocking_recv_deadline(past), Ok(4));
    /// ```
    #[cfg_attr(joint_loom, track_caller)]
    pub fn blocking_recv_deadline(&mut self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let answer = match self.answer() {
            None if deadline > host::now() => park::block_on_deadline(Pin::new(self), deadline),
            answer => answer,
        };
        Ok(answer.ok_or(RecvTimeoutError::Timeout)??)
    }
}

/// Why [`Receiver::blocking_recv_timeout`](Receiver::blocking_recv_timeout) or
/// [`Receiver::blocking_recv_deadline`](Receiver::blocking_recv_deadline) has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecvTimeoutError {
    /// The limit has passed. The sender may still send.
    Timeout,
    /// As for [`RecvError`].
    Closed,
}

says!(RecvTimeoutError: Self::Timeout => "timed out waiting on a channel", Self::Closed => CLOSED);

impl From<RecvError> for RecvTimeoutError {
    fn from(RecvError: RecvError) -> Self {
        Self::Closed
    }
}
