//! [`PanicPayload`]: the payload of a panic that a task has ended with.

use alloc::{boxed::Box, string::String};
use core::{
    any::Any,
    fmt,
    num::NonZero,
    panic::{Location, RefUnwindSafe, UnwindSafe},
};

use super::{Id, JoinError, TaskView, on_panic, unwind};

/// The payload of a panic, as `catch_unwind` gives it.
pub(super) type Payload = Box<dyn Any + Send>;

/// Returns the text of a payload that has one.
pub(super) fn message_of(payload: &Payload) -> Option<&str> {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

impl JoinError {
    /// Returns the id of the task, which a cancelled task has if somebody had
    /// [asked for it](super::CancelledTask::id). There is none for a payload that was made by
    /// [`PanicPayload::new`].
    pub fn id(&self) -> Option<Id> {
        match self {
            Self::Cancelled(task) => task.id(),
            Self::Panicked(payload) => payload.0.id,
        }
    }

    /// Returns the payload of the task's panic, as `catch_unwind` gave it.
    ///
    /// # Panics
    /// If the task was cancelled.
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        let payload = self.try_into_panic();
        payload.unwrap_or_else(|error| panic!("`into_panic` was called, but {error}"))
    }

    /// Returns the payload of the task's panic, as `catch_unwind` gave it.
    ///
    /// # Errors
    /// The error itself if the task was cancelled.
    ///
    /// # Example
    /// ```
    /// let (runnable, handle) = joint::task::spawn(async { panic!("no") }, |_| {});
    /// runnable.run();
    /// let error = joint::block_on(handle.result()).unwrap_err();
    /// assert_eq!(error.try_into_panic().unwrap().downcast_ref(), Some(&"no"));
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self {
            Self::Cancelled(_) => Err(self),
            Self::Panicked(payload) => Ok(payload.into_inner()),
        }
    }
}

/// The payload of a task's panic, with the name of the task and the place where it was spawned.
///
/// Unlike the boxed payload itself it is `Sync`, because by reference it gives access only to text.
/// An error that contains it can therefore be shared. It is [`UnwindSafe`] and [`RefUnwindSafe`] as
/// well, so that a [`JoinError`] passes a `catch_unwind` without a wrapper.
pub struct PanicPayload(Box<Panic>);

struct Panic {
    payload: Payload,
    name: Option<String>,
    spawned: &'static Location<'static>,
    id: Option<Id>,
    /// The number of the payload, if the thread that caught it has asked for it.
    number: Option<NonZero<u64>>,
}

// SAFETY: a shared reference reads only payloads that are `&str` or `String`, both of which are
// `Sync`.
unsafe impl Sync for PanicPayload {}

// The payload has already crossed an unwind, as that of `catch_unwind` or of a thread's `join` has.
// By reference it gives access only to text.
impl UnwindSafe for PanicPayload {}
impl RefUnwindSafe for PanicPayload {}

impl PanicPayload {
    #[cold]
    pub(super) fn of<M>(task: TaskView<'_, M>, payload: Payload) -> Self {
        let mut this = Self::new(payload, task.spawned());
        this.0.name = task.name().map(String::from);
        this.0.id = Some(task.id());
        this
    }

    /// Wraps a payload that `catch_unwind` gave, as that of an unnamed task which was spawned at
    /// `spawned`. For code that polls a part of a task's future, and reports its panic as if it
    /// were a task of its own.
    ///
    /// # Example
    /// ```
    /// use joint::task::{JoinError, PanicPayload};
    /// use std::panic::{Location, catch_unwind};
    ///
    /// let payload = catch_unwind(|| panic!("no")).unwrap_err();
    /// let error = JoinError::Panicked(PanicPayload::new(payload, Location::caller()));
    /// assert!(error.to_string().ends_with("panicked: no"));
    /// ```
    #[cold]
    pub fn new(payload: Payload, spawned: &'static Location<'static>) -> Self {
        let number = on_panic::caught(message_of(&payload));
        Self(Box::new(Panic {
            payload,
            name: None,
            spawned,
            id: None,
            number,
        }))
    }

    /// Takes note that somebody looks at it.
    fn note_seen(&self) {
        if let Some(number) = self.0.number {
            on_panic::seen(number);
        }
    }

    /// Returns the panic's message if it has one, as a panic by `panic!` does.
    pub fn message(&self) -> Option<&str> {
        self.note_seen();
        message_of(&self.0.payload)
    }

    /// Returns the task's name, if it has one.
    pub fn task_name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        self.0.spawned
    }

    /// Returns the payload, as `catch_unwind` gave it.
    pub fn into_inner(self) -> Box<dyn Any + Send> {
        self.note_seen();
        self.0.payload
    }

    /// Resumes the panic on this thread. The panic hook does not run again.
    pub fn resume(self) -> ! {
        unwind::resume(self.into_inner())
    }
}

impl fmt::Display for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Described(self.task_name(), self.spawned());
        write!(f, "the {named} panicked")?;
        match self.message() {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

/// A task's name, if it has one, and where it was spawned.
pub(super) struct Described<'a>(
    pub(super) Option<&'a str>,
    pub(super) &'static Location<'static>,
);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, spawned) = self;
        match name {
            Some(name) => write!(f, "task `{name}` spawned at {spawned}"),
            None => write!(f, "task spawned at {spawned}"),
        }
    }
}

impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PanicPayload")
            .field("task_name", &self.task_name())
            .field("spawned", &format_args!("{}", self.spawned()))
            .field("message", &self.message().unwrap_or("not a string"))
            .finish()
    }
}
