//! [`Timer`]: a wait that can be started again and again.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use std::time::Instant;

use super::{alarm::When, sleep::Sleep};

/// A timer that waits for its duration each time that it is awaited.
///
/// The duration starts with the first poll of an await. When the await ends, the timer is idle
/// until the next one. If an await is dropped early, the timer stays armed, and the next await
/// waits for the remaining time. To start over instead, [`disarm`](Timer::disarm) it first. A
/// duration of zero yields once and does not read the clock, as for [`sleep`](super::sleep()).
///
/// Like a [`Sleep`], it belongs to the executor on which the poll that arms it runs.
///
/// # Cost
/// As for a [`Sleep`], each time. It makes no allocation of its own.
///
/// # Example
/// ```
/// use std::time::{Duration, Instant};
/// use joint_executor::time::Timer;
///
/// joint_executor::block_on(async {
///     let begin = Instant::now();
///     let mut timer = Timer::new(Duration::from_millis(1));
///     for expiry in 1..=5 {
///         (&mut timer).await;
///         assert!(begin.elapsed() >= Duration::from_millis(expiry));
///     }
/// });
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Timer {
    duration: Duration,
    /// The wait that has begun. `None` while idle: the next poll begins one.
    wait: Option<Sleep>,
}

impl Timer {
    /// Creates a timer that waits for `duration` each time. It is not armed yet.
    pub const fn new(duration: Duration) -> Self {
        Self {
            duration,
            wait: None,
        }
    }

    /// Returns how long it waits each time.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Sets how long it waits from the next time on. A wait that has begun does not change.
    pub fn set_duration(&mut self, duration: Duration) {
        self.duration = duration;
    }

    /// Arms it for an instant, once. The await that has begun, or else the next one, ends at that
    /// instant. Later awaits last for the duration again.
    ///
    /// A task that is waiting is woken at that instant instead of the earlier deadline.
    pub fn arm_at(&mut self, deadline: Instant) {
        match &mut self.wait {
            Some(wait) => wait.reset(deadline),
            None => self.wait = Some(Sleep::of(When::At(deadline))),
        }
    }

    /// Returns whether a wait has begun, or an instant was set by [`arm_at`](Timer::arm_at), and no
    /// await has ended since.
    pub fn is_armed(&self) -> bool {
        self.wait.is_some()
    }

    /// Cancels the wait that has begun, if any, and the next await starts over. A task that is
    /// waiting now is not woken by this timer.
    pub fn disarm(&mut self) {
        self.wait = None;
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let duration = self.duration;
        let wait = self.wait.get_or_insert_with(|| Sleep::after(duration));
        ready!(Pin::new(wait).poll(cx));
        self.wait = None;
        Poll::Ready(())
    }
}
