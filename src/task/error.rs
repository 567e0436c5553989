//! [`JoinError`]: how a task can end without an output.

use core::fmt;

use super::PanicPayload;

/// The reason why a task has no output: it was cancelled, or it panicked.
///
/// # Example
/// ```
/// use joint::{JoinError, task};
///
/// let (runnable, handle) = task::spawn(async { 1 }, |_| {});
/// drop(runnable);
/// let error = joint::block_on(handle.result()).unwrap_err();
/// assert!(matches!(error, JoinError::Cancelled));
/// assert_eq!(error.to_string(), "the task was cancelled");
/// ```
#[derive(Debug)]
pub enum JoinError {
    /// The future was dropped before it was ready, because the task was aborted or its executor has
    /// shut down.
    Cancelled,
    /// The future panicked, in `poll` or while being dropped.
    Panicked(PanicPayload),
}

impl JoinError {
    /// Returns whether the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Returns whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }
}

/// Wraps the error, with the kind [`Other`](std::io::ErrorKind::Other).
#[cfg(feature = "std")]
impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> Self {
        Self::other(error)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the task was cancelled"),
            Self::Panicked(payload) => payload.fmt(f),
        }
    }
}

impl core::error::Error for JoinError {}
