//! The API of `oneshot` 0.2 on [`joint::oneshot`], for `[patch.crates-io]`.
//!
//! [`channel`] makes a [`Sender`], which sends one value, and a [`Receiver`], which takes it,
//! blocks for it or is awaited.
//!
//! ```
//! # #[cfg(all(feature = "async", feature = "std"))] {
//! use oneshot::RecvTimeoutError;
//! use std::time::Duration;
//!
//! let (sender, receiver) = oneshot::channel();
//! let early = receiver.recv_timeout(Duration::from_millis(1));
//! assert_eq!(early, Err(RecvTimeoutError::Timeout));
//! sender.send("late").unwrap();
//! assert_eq!(joint::block_on(async { receiver.await }), Ok("late"));
//! # }
//! ```
//!
//! The README says how to put this in the place of the original, and where the two differ.
#![no_std]

extern crate alloc;

mod errors;
#[cfg(feature = "futures")]
pub mod futures;
mod receiver;
mod sender;

#[cfg(feature = "std")]
pub use errors::RecvTimeoutError;
pub use errors::{SendError, TryRecvError};
#[cfg(any(feature = "async", feature = "std"))]
pub use joint::oneshot::RecvError;
#[cfg(feature = "async")]
pub use receiver::AsyncReceiver;
pub use receiver::Receiver;
pub use sender::Sender;

/// Creates a channel for one value, and returns its two ends.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = joint::oneshot::channel();
    (Sender::new(sender), Receiver::new(receiver))
}

/// As [`channel`], with a receiver that is a future.
#[cfg(feature = "async")]
pub fn async_channel<T>() -> (Sender<T>, AsyncReceiver<T>) {
    let (sender, receiver) = joint::oneshot::channel();
    (Sender::new(sender), AsyncReceiver::new(receiver))
}
