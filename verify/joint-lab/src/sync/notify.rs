//! loom's `Notify`, recorded.

use std::panic::Location;

use crate::{event::Step, recorder};

wrapper! {
    /// [`loom::sync::Notify`]: a notification is kept until somebody waits for it. A wait may also
    /// end without one.
    Notify of loom::sync
}

impl Notify {
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
