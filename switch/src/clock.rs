//! The clock that all timers and deadlines are read from: that of the system, or on a thread of a
//! simulation the virtual one.

use core::cell::Cell;
use std::time::Instant;

std::thread_local! {
    /// The virtual time, on a thread of a simulation.
    static VIRTUAL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Returns the time.
#[inline]
pub fn now() -> Instant {
    // A thread whose thread-locals are gone is in no simulation.
    if let Ok(Some(now)) = VIRTUAL.try_with(Cell::get) {
        return now;
    }
    Instant::now()
}

/// Sets the virtual time of this thread. With `None` it follows the system's clock again. Returns
/// what was set before.
pub fn set_virtual(now: Option<Instant>) -> Option<Instant> {
    VIRTUAL.with(|time| time.replace(now))
}
