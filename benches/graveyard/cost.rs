//! The cost of the whole program so far: its processor time, and how often its threads have left
//! a processor.

/// Returns the nanoseconds of processor time, how often a thread has gone to sleep, and how often
/// the system has taken one off its processor, or `None` if the system does not say. These are the
/// sums over all threads, also over those that have ended.
#[cfg(unix)]
pub(crate) fn so_far() -> Option<[f64; 3]> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: there is room for the one structure that the call writes.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "a program may ask about itself");
    // SAFETY: the structure consists of integers, and all of them are written.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    Some([
        time(usage.ru_utime) + time(usage.ru_stime),
        usage.ru_nvcsw as f64,
        usage.ru_nivcsw as f64,
    ])
}

/// The system does not say.
#[cfg(not(unix))]
pub(crate) fn so_far() -> Option<[f64; 3]> {
    None
}
