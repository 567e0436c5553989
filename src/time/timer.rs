//! [`Timer`]: a wait that can be begun again and again.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use std::time::Instant;

use super::{alarm::When, sleep::Sleep};

/// A timer that is armed by being awaited, each time anew for its duration.
///
/// The duration counts from the first poll of each await. When that ends, the timer is idle, until the next. An await that is given up
/// leaves the timer armed, and the next one waits for what is left of that time; to begin anew, [`disarm`](Timer::disarm) it
/// before. A duration of zero yields once and reads no clock, as [`sleep`](super::sleep()) does.
///
/// It belongs to the executor that it is polled on when it is armed, as a [`Sleep`].
///
/// # Cost
/// As for a [`Sleep`], each time. It has no memory of its own.
///
/// # Example
/// ```
/// use std::time::{Duration, Instant};
/// use joint::time::Timer;
///
/// joint::block_on(async {
///     let begin = Instant::now();
///     let mut timer = Timer::new(Duration::from_millis(1));
///     for expiry in 1..=5 {
///         (&mut timer).await;
///         assert!(begin.elapsed() >= Duration::from_millis(expiry));
///     }
/// });
/// ```
#[derive(Debug)]
#[must_use = "a timer waits only when it is awaited"]
pub struct Timer {
    duration: Duration,
    /// None: idle. The next poll begins.
    wait: Option<Sleep>,
}

impl Timer {
    /// A timer that waits for so long each time. It is not armed.
    pub const fn new(duration: Duration) -> Self {
        Self {
            duration,
            wait: None,
        }
    }

    /// How long it waits each time.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// How long it waits from the next time on. A wait that has begun stays as it is.
    pub fn set_duration(&mut self, duration: Duration) {
        self.duration = duration;
    }

    /// Arms it for an instant, once: the await that has begun, or else the next one, ends then. After that its duration counts again.
    ///
    /// A task that waits for it meanwhile is woken at that instant, and not at the time before.
    pub fn arm_at(&mut self, deadline: Instant) {
        match &mut self.wait {
            Some(wait) => wait.reset(deadline),
            None => self.wait = Some(Sleep::of(When::At(deadline))),
        }
    }

    /// Whether a wait has begun, or a time is set by [`arm_at`](Timer::arm_at), and no await has come to its end since.
    pub fn is_armed(&self) -> bool {
        self.wait.is_some()
    }

    /// Gives up the wait that has begun, if any. The next await begins anew. Whoever awaits it now is not woken by it any more.
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
