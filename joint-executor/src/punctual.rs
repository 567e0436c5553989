//! [`punctually`]: a sleep that ends on time.

/// Runs `sleep`, a sleep with a limit, and asks the kernel to end it punctually. By default the
/// kernel may end it up to 50 microseconds late, to combine it with other wake-ups.
///
/// Threads and programs inherit the timer slack of the thread that starts them. The thread's own
/// slack is therefore restored before any code of a task runs.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    use core::num::NonZeroU64;
    use rustix::thread::{current_timer_slack, set_current_timer_slack};

    const PUNCTUAL: Option<NonZeroU64> = NonZeroU64::new(1);
    // A thread with a real-time policy has no slack, and the call returns 0.
    let own = current_timer_slack().ok().and_then(NonZeroU64::new);
    if own <= PUNCTUAL {
        return sleep();
    }
    // If the system refuses this, the sleep ends as late as by default.
    let _ = set_current_timer_slack(PUNCTUAL);
    sleep();
    let _ = set_current_timer_slack(own);
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    sleep();
}
