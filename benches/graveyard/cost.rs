//! The cost of the whole program so far: its processor time, and how often its threads have left
//! a processor.

use std::time::Duration;

/// The sum over all threads, also over those that have ended.
pub(crate) struct Cost {
    pub(crate) processor: Duration,
    /// A thread has gone to sleep.
    pub(crate) voluntary: u64,
    /// The system has taken a thread off its processor.
    pub(crate) involuntary: u64,
}

impl Cost {
    /// Returns the cost so far, or `None` if the system does not say.
    #[cfg(unix)]
    pub(crate) fn now() -> Option<Self> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: there is room for the one structure that the call writes.
        let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
        assert_eq!(status, 0, "a program may ask about itself");
        // SAFETY: the structure consists of integers, and all of them are written.
        let usage = unsafe { usage.assume_init() };
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        Some(Self {
            processor: time(usage.ru_utime) + time(usage.ru_stime),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        })
    }

    /// Returns the cost so far, or `None` if the system does not say.
    #[cfg(not(unix))]
    pub(crate) fn now() -> Option<Self> {
        None
    }

    /// Returns nanoseconds, voluntary and involuntary switches since `before`.
    pub(crate) fn since(&self, before: &Self) -> [f64; 3] {
        [
            (self.processor - before.processor).as_secs_f64() * 1e9,
            (self.voluntary - before.voluntary) as f64,
            (self.involuntary - before.involuntary) as f64,
        ]
    }
}
