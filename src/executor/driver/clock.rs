//! The time, in nanoseconds since the program first asked for it. Monotonic.

use core::time::Duration;
use std::{sync::OnceLock, time::Instant};

/// Later than any time: for 584 years.
pub(crate) const NEVER: u64 = u64::MAX;

fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(Instant::now)
}

pub(crate) fn now() -> u64 {
    nanos(Instant::now())
}

/// An instant before the first is taken for that one, and one too far away for [`NEVER`].
pub(crate) fn nanos(instant: Instant) -> u64 {
    let since = instant.saturating_duration_since(base());
    u64::try_from(since.as_nanos()).unwrap_or(NEVER)
}

/// `now`, and so much later.
pub(crate) fn after(now: u64, duration: Duration) -> u64 {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(NEVER);
    now.saturating_add(nanos)
}

/// How long it is until then; none: for ever.
pub(crate) fn until(deadline: u64) -> Option<Duration> {
    (deadline != NEVER).then(|| Duration::from_nanos(deadline.saturating_sub(now())))
}

/// Runs `sleep`, a sleep with a limit, and asks the kernel to end it punctually. By default the
/// kernel may end it up to 50 microseconds later, together with others.
///
/// Threads and programs inherit the timer slack of the thread that starts them. So the thread's own
/// slack is put back before any code of a task runs.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    use core::num::NonZeroU64;
    use rustix::thread::{current_timer_slack, set_current_timer_slack};

    const PUNCTUAL: Option<NonZeroU64> = NonZeroU64::new(1);
    // Threads with a real-time policy have none, which is 0.
    let own = current_timer_slack().ok().and_then(NonZeroU64::new);
    if own <= PUNCTUAL {
        return sleep();
    }
    // Refused, timers are as late as elsewhere.
    let _ = set_current_timer_slack(PUNCTUAL);
    sleep();
    let _ = set_current_timer_slack(own);
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    sleep();
}
