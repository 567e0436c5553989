//! [`JoinError`]: how a task can end without an output; and [`CancelledTask`].

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, string::String};
use core::{fmt, panic::Location};

#[cfg(feature = "alloc")]
use super::Id;
use super::{PanicPayload, TaskView};

/// The reason why a task has no output: it was cancelled, or it panicked.
///
/// # Example
/// ```
/// use joint::{JoinError, task};
///
/// let (runnable, handle) = task::spawn(async { 1 }, |_| {});
/// drop(runnable);
/// let error = joint::block_on(handle.result()).unwrap_err();
/// assert!(matches!(error, JoinError::Cancelled(_)));
/// // As in "the task spawned at src/main.rs:3:26 was cancelled".
/// assert!(error.to_string().starts_with("the task spawned at "));
/// ```
#[derive(Debug)]
pub enum JoinError {
    /// The future was dropped before it was ready, because the task was aborted or its executor has
    /// shut down.
    Cancelled(CancelledTask),
    /// The future panicked, in `poll` or while being dropped.
    Panicked(PanicPayload),
}

impl JoinError {
    /// Returns whether the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
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
            Self::Cancelled(task) => task.fmt(f),
            Self::Panicked(payload) => payload.fmt(f),
        }
    }
}

impl core::error::Error for JoinError {}

/// Which task was cancelled: its name, if it has one, its id, if somebody has asked for it, and
/// where it was spawned.
///
/// # Cost
/// An allocation, and one for the name, of a task that has a name or an id. None for any other.
pub struct CancelledTask(Which);

enum Which {
    Spawned(&'static Location<'static>),
    #[cfg(feature = "alloc")]
    Known(Box<Known>),
}

#[cfg(feature = "alloc")]
struct Known {
    spawned: &'static Location<'static>,
    name: Option<String>,
    id: Option<Id>,
}

impl CancelledTask {
    #[cold]
    pub(super) fn of<M>(task: TaskView<'_, M>) -> Self {
        #[cfg(feature = "alloc")]
        {
            let (name, id) = (task.name().map(String::from), task.known_id());
            if name.is_some() || id.is_some() {
                let spawned = task.spawned();
                return Self(Which::Known(Box::new(Known { spawned, name, id })));
            }
        }
        Self::new(task.spawned())
    }

    /// Makes one for an unnamed task that was spawned at `spawned`. For code that cancels a part of
    /// a task's future, and reports that as if it were a task of its own.
    pub const fn new(spawned: &'static Location<'static>) -> Self {
        Self(Which::Spawned(spawned))
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        match &self.0 {
            Which::Spawned(spawned) => spawned,
            #[cfg(feature = "alloc")]
            Which::Known(known) => known.spawned,
        }
    }

    #[cfg(feature = "alloc")]
    fn known(&self) -> Option<&Known> {
        match &self.0 {
            Which::Spawned(_) => None,
            Which::Known(known) => Some(known),
        }
    }

    /// Returns the task's name, if it has one.
    #[cfg(feature = "alloc")]
    pub fn task_name(&self) -> Option<&str> {
        self.known()?.name.as_deref()
    }

    /// Returns the task's id, if anybody had asked for it before the task was joined. Another id
    /// would say nothing: nobody knows it.
    #[cfg(feature = "alloc")]
    pub fn id(&self) -> Option<Id> {
        self.known()?.id
    }
}

impl fmt::Display for CancelledTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task ")?;
        #[cfg(feature = "alloc")]
        match (self.task_name(), self.id()) {
            (Some(name), _) => write!(f, "`{name}` ")?,
            (None, Some(id)) => write!(f, "{id} ")?,
            (None, None) => {}
        }
        write!(f, "spawned at {} was cancelled", self.spawned())
    }
}

impl fmt::Debug for CancelledTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelledTask({self})")
    }
}
