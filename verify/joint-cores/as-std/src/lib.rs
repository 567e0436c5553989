//! std under the names that the rows use, to run them on a real machine.

use std::time::{Duration, Instant};
pub use std::{hint, sync, thread};

/// Returns the time.
pub fn now() -> Instant {
    Instant::now()
}

/// Works for some nanoseconds.
pub fn work(nanoseconds: f64) {
    let end = Instant::now() + Duration::from_nanos(nanoseconds as u64);
    while Instant::now() < end {
        hint::spin_loop();
    }
}
