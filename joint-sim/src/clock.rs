//! The virtual time, in nanoseconds since the [epoch] of the timers.

use std::time::{Duration, Instant};

use joint::host;
use joint_executor::hosted::epoch;

/// Later than any time that a run reaches.
pub(super) const NEVER: u64 = u64::MAX;

/// The time at which a run begins: the same in each, and long before the time of the system, where
/// the epoch is.
pub(super) fn start() -> u64 {
    nanos(host::now()).min(1 << 50)
}

pub(super) fn nanos(instant: Instant) -> u64 {
    let since = instant.saturating_duration_since(epoch());
    u64::try_from(since.as_nanos()).unwrap_or(NEVER)
}

pub(super) fn instant(nanos: u64) -> Instant {
    epoch() + Duration::from_nanos(nanos)
}

pub(super) fn after(now: u64, duration: Duration) -> u64 {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(NEVER);
    now.saturating_add(nanos)
}

pub(super) fn set(nanos: u64) {
    host::update(|host| host.now = Some(instant(nanos)));
}
