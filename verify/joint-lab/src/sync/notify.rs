//! loom's `Notify`, recorded.

use std::panic::Location;

use crate::{event::Step, recorder};

/// [`loom::sync::Notify`]: a notification is kept until somebody waits for it. A wait may also end
/// without one.
#[derive(Debug)]
pub struct Notify(loom::sync::Notify, u64);

impl Notify {
    /// Works as [`loom::sync::Notify::new`].
    #[track_caller]
    pub fn new() -> Self {
        let place = recorder::made("Notify", 0, Location::caller());
        Self(loom::sync::Notify::new(), place)
    }

    /// Names this `Notify` in pictures.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        recorder::name_place(self.1, name);
        self
    }

    /// Works as [`loom::sync::Notify::notify`].
    #[track_caller]
    pub fn notify(&self) {
        recorder::begins_plain(self.1, Step::Signal, Location::caller());
        self.0.notify();
        recorder::ended(0);
    }

    /// Works as [`loom::sync::Notify::wait`].
    #[track_caller]
    pub fn wait(&self) {
        recorder::begins_plain(self.1, Step::Await, Location::caller());
        self.0.wait();
        recorder::ended(0);
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
