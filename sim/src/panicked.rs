//! [`Panicked`]: a panic in a run.

use std::{any::Any, fmt};

use super::record::{Actor, Named};

/// A panic, and who panicked where.
#[derive(Clone)]
pub(super) struct Panicked {
    pub(super) actor: Actor,
    pub(super) named: Option<Named>,
    /// `None` if it began outside of the run, or if the program has a panic hook of its own.
    pub(super) place: Option<Box<str>>,
    pub(super) message: Box<str>,
}

impl Panicked {
    /// Shows it in one line.
    pub(super) fn first_line(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().into()
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.actor)?;
        if let Some(named) = &self.named {
            write!(f, "{named},")?;
        }
        write!(f, " panicked{}", Told(self.place.as_deref(), &self.message))
    }
}

/// Shows where a panic happened, and its message.
pub(super) struct Told<'a>(pub(super) Option<&'a str>, pub(super) &'a str);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(place, message) = self;
        match place {
            Some(place) => write!(f, " at {place}: {message}"),
            None => write!(f, ": {message}"),
        }
    }
}

/// Returns the message of a panic.
pub(super) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or(NO_MESSAGE)
}

pub(super) const NO_MESSAGE: &str = "(no message)";
