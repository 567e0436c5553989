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
        record!(self.1, Step::Signal, self.0.notify());
    }

    /// Works as [`loom::sync::Notify::wait`].
    #[track_caller]
    pub fn wait(&self) {
        record!(self.1, Step::Await, self.0.wait());
    }
}
