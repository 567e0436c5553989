//! [`Panicked`]: a panic in a run.

use std::{any::Any, fmt};

use super::record::{Actor, Named};

/// A panic, and who panicked where.
#[derive(Clone)]
pub(super) struct Panicked {
    pub(super) actor: Actor,
    pub(super) named: Option<Named>,
    pub(super) told: Told,
}

/// Where a panic happened, and its message.
#[derive(Clone)]
pub(super) struct Told {
    /// `None` if it began outside of the run, or if the program has a panic hook of its own.
    pub(super) place: Option<Box<str>>,
    pub(super) message: Box<str>,
}

impl Panicked {
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
        write!(f, " panicked{}", self.told)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, message } = self;
        match place {
            Some(place) => write!(f, " at {place}: {message}"),
            None => write!(f, ": {message}"),
        }
    }
}

impl Told {
    /// Returns whether two panics have the same message, but for numbers.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        is_like(&self.message, &other.message)
    }
}

/// Returns whether two messages differ in their numbers at most. A run with fewer decisions often
/// has other ones.
pub(super) fn is_like(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|text| text.chars().filter(|c| !c.is_ascii_digit()));
    one.eq(other)
}

pub(super) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or(NO_MESSAGE)
}

pub(super) const NO_MESSAGE: &str = "(no message)";
