//! [`TaskError`]: how a task can end without an output.

use std::{error::Error, fmt, sync::Arc};

use joint::task::PanicPayload;

/// The reason why a task has no output: it was cancelled, or it panicked.
///
/// Each waiter gets a clone.
///
/// # Example
/// ```
/// let task = joint_flow::spawn(async { assert_eq!(1, 2) });
/// let error = joint::block_on(task).unwrap_err();
/// assert!(error.is_panic());
/// assert!(error.to_string().contains("left: 1"));
/// ```
#[derive(Clone, Debug)]
pub enum TaskError {
    /// The future was dropped before it was ready: by [`Task::cancel`](super::Task::cancel), or
    /// because its executor has shut down.
    Cancelled,
    /// The future panicked, in `poll` or while it was dropped after it was ready.
    Panicked(Arc<PanicPayload>),
}

impl TaskError {
    /// Returns whether the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Returns whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the task was cancelled"),
            Self::Panicked(payload) => payload.fmt(f),
        }
    }
}

impl Error for TaskError {}
