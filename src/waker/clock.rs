//! The clock of this crate's waits, timers and deadlines: the system's, or on a thread whose owner
//! sets the time a virtual one.
//!
//! A simulator [sets the virtual time](set_virtual) of each thread that it runs, and moves it on
//! when nothing else is left to do. A future of your own that has a deadline reads the time from
//! [`now`], so that it can be simulated too.
//!
//! # Example
//! ```
//! use joint::waker::clock;
//! use std::time::{Duration, Instant};
//!
//! let start = Instant::now();
//! let hour = Duration::from_secs(3600);
//! clock::set_virtual(Some(start + hour));
//! assert_eq!(clock::now(), start + hour);
//! clock::set_virtual(None);
//! assert!(clock::now() < start + hour);
//! ```

use core::cell::Cell;
use std::time::Instant;

use joint_switch::thread_local;

thread_local! {
    /// The virtual time of this thread, or `None` if it follows the system's clock.
    static VIRTUAL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Returns the time: the virtual one if this thread has one, or else [`Instant::now`].
///
/// # Cost
/// One read of a thread-local beside the call of the system.
#[inline]
pub fn now() -> Instant {
    match VIRTUAL.try_with(Cell::get) {
        Ok(Some(now)) => now,
        _ => joint_switch::now(),
    }
}

/// Sets the virtual time of this thread, which then stands still until the next call. With `None`,
/// the default, the thread follows the system's clock. Returns what was set before.
///
/// The time of other threads does not change. A thread that parks until a deadline still sleeps by
/// the system's clock, so the owner of a thread with a virtual time also replaces its waits, by
/// `waker::park::set_wait`.
pub fn set_virtual(now: Option<Instant>) -> Option<Instant> {
    VIRTUAL.with(|time| time.replace(now))
}
