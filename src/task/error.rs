//! How a task can end without an output.

use alloc::{boxed::Box, string::String};
use core::{any::Any, fmt};

/// A task that gives no output, because it was cancelled or because it panicked.
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
    /// The future was dropped before it was ready: the task was aborted, or its executor has shut down.
    Cancelled,
    /// The future panicked, in `poll` or while being dropped.
    Panicked(PanicPayload),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the task was cancelled"),
            Self::Panicked(payload) => match payload.message() {
                Some(message) => write!(f, "the task panicked: {message}"),
                None => f.write_str("the task panicked"),
            },
        }
    }
}

impl core::error::Error for JoinError {}

/// What a task panicked with.
///
/// Unlike the bare box it is `Sync`, so that an error that holds it can be shared: by reference it gives out only text.
pub struct PanicPayload(Box<dyn Any + Send>);

// SAFETY: a shared reference reads only payloads that are `&str` or `String`, both of which are `Sync`.
unsafe impl Sync for PanicPayload {}

impl PanicPayload {
    #[cfg(feature = "std")]
    pub(super) fn new(payload: Box<dyn Any + Send>) -> Self {
        Self(payload)
    }

    /// The text of the panic, when it was made with one, as `panic!` does.
    pub fn message(&self) -> Option<&str> {
        let text = self.0.downcast_ref::<&'static str>().copied();
        text.or_else(|| self.0.downcast_ref::<String>().map(String::as_str))
    }

    /// The payload, as `catch_unwind` gave it.
    pub fn into_inner(self) -> Box<dyn Any + Send> {
        self.0
    }

    /// Goes on with the panic on this thread. The panic hook does not run again.
    #[cfg(feature = "std")]
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.0)
    }

    /// Panics on this thread with the text of the panic.
    #[cfg(not(feature = "std"))]
    pub fn resume(self) -> ! {
        panic!(
            "a task panicked: {}",
            self.message().unwrap_or("no message")
        )
    }
}

impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PanicPayload")
            .field(&self.message().unwrap_or("not a text"))
            .finish()
    }
}
