//! [`BrokenPromise`]: the error of a waiter whose producer has gone.

use std::{error::Error, fmt, io};

use joint::{oneshot::RecvError, shared::Closed};

/// The error of a waiter whose producer was dropped without having kept its promise: no value, no
/// error and no end will come.
///
/// The errors of `joint` that say the same convert to it. It converts to an [`io::Error`] of the
/// kind [`BrokenPipe`](io::ErrorKind::BrokenPipe).
///
/// # Example
/// ```
/// use joint_flow::BrokenPromise;
///
/// async fn wait(shared: joint::shared::Shared<u32>) -> Result<u32, BrokenPromise> {
///     Ok(shared.await?)
/// }
///
/// let (sender, shared) = joint::shared::channel();
/// drop(sender);
/// assert_eq!(joint::block_on(wait(shared)), Err(BrokenPromise));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BrokenPromise;

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken promise: the producer was dropped")
    }
}

impl Error for BrokenPromise {}

impl From<Closed> for BrokenPromise {
    fn from(Closed: Closed) -> Self {
        Self
    }
}

impl From<RecvError> for BrokenPromise {
    fn from(RecvError: RecvError) -> Self {
        Self
    }
}

impl From<BrokenPromise> for io::Error {
    fn from(broken: BrokenPromise) -> Self {
        Self::new(io::ErrorKind::BrokenPipe, broken)
    }
}
