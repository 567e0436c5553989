//! [`punctually`]: a sleep that ends on time.

/// Runs `sleep`, a sleep with a limit, and asks the kernel to end it punctually. By default the
/// kernel may end it up to 50 microseconds late, to combine it with other wake-ups.
///
/// Threads and programs inherit the timer slack of the thread that starts them. The thread's own
/// slack is therefore restored before any code of a task runs.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    const PUNCTUAL: libc::c_ulong = 1;
    let set = |slack: libc::c_ulong| {
        // SAFETY: this option has one argument, the nanoseconds.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) }
    };
    // SAFETY: this option has no argument.
    let own = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    // A thread with a real-time policy has no slack, and the call returns 0.
    let own = libc::c_ulong::try_from(own).unwrap_or_default();
    if own <= PUNCTUAL {
        return sleep();
    }
    // If the system refuses this, the sleep ends as late as by default.
    let _ = set(PUNCTUAL);
    sleep();
    let _ = set(own);
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn punctually(sleep: impl FnOnce()) {
    sleep();
}
