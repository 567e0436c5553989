//! The time, in nanoseconds since long before the program first asked for it. Monotonic.

use core::time::Duration;
use std::{sync::OnceLock, time::Instant};

use joint::host;

/// A time that the clock does not reach within 584 years.
pub(crate) const NEVER: u64 = u64::MAX;

/// Returns the instant that the units of this clock count from.
///
/// It is 36 years ago, where the system knows such a time: a [`Host`](crate::hosted::Host) may have
/// a time that is never later than the system's.
pub(crate) fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(|| {
        let now = joint_switch::now();
        now.checked_sub(Duration::from_nanos(1 << 60))
            .unwrap_or(now)
    })
}

#[inline(never)]
pub(crate) fn now() -> u64 {
    nanos(host::now())
}

/// An instant before the first one counts as the first one, and an instant too far away counts as
/// [`NEVER`].
pub(crate) fn nanos(instant: Instant) -> u64 {
    let since = instant.saturating_duration_since(base());
    u64::try_from(since.as_nanos()).unwrap_or(NEVER)
}

pub(crate) fn instant(nanos: u64) -> Instant {
    let since = Duration::from_nanos(nanos);
    base().checked_add(since).unwrap_or_else(base)
}

pub(crate) fn after(now: u64, duration: Duration) -> u64 {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(NEVER);
    now.saturating_add(nanos)
}
