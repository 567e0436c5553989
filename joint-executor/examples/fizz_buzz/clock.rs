//! [`Clock`], which tells the consumer when to print a line.

use std::io;
use std::time::{Duration, Instant};

use joint_executor::time::{Interval, interval_at};

#[derive(Debug)]
pub(crate) enum Clock {
    #[cfg(target_os = "linux")]
    Descriptor(timerfd::TimerFd),
    Interval(Interval),
}

impl Clock {
    /// Makes a clock that ticks for the first time after one period.
    pub(crate) fn new(period: Duration, interval: bool) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if !interval {
            return timerfd::new(period).map(Self::Descriptor);
        }
        let _always = interval;
        Ok(Self::Interval(interval_at(Instant::now() + period, period)))
    }

    /// Waits for a tick. Returns how many there have been since the last call, at least one.
    pub(crate) async fn ticks(&mut self) -> io::Result<u64> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Descriptor(timer) => timer.read_with(timerfd::expirations).await,
            Self::Interval(interval) => {
                interval.tick().await;
                Ok(1)
            }
        }
    }
}

/// A timer of the kernel: a descriptor that is readable when the timer has expired.
#[cfg(target_os = "linux")]
mod timerfd {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use joint_executor::io::AsyncFd;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    pub(super) type TimerFd = AsyncFd<OwnedFd>;

    pub(super) fn new(period: Duration) -> io::Result<TimerFd> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let period = Timespec::try_from(period).map_err(io::Error::other)?;
        let each = Itimerspec {
            it_interval: period,
            it_value: period,
        };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &each)?;
        AsyncFd::new(timer)
    }

    /// Returns how often it has expired since it was last read.
    pub(super) fn expirations(timer: &OwnedFd) -> io::Result<u64> {
        let mut count = [0; 8];
        rustix::io::read(timer, &mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}
