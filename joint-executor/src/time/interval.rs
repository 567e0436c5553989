//! [`Interval`]: ticks, a period apart.

use core::{
    future::{Future, poll_fn},
    task::{Context, Poll, ready},
    time::Duration,
};
use std::time::Instant;

use super::alarm::{Alarm, When};
use joint::{budget::Turn, host};

/// Ticks at once, and then once every period.
///
/// # Panics
/// Panics if the period is zero. To yield to other tasks, use [`yield_now`](crate::yield_now()).
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// joint_executor::block_on(async {
///     let period = Duration::from_millis(1);
///     let mut interval = joint_executor::time::interval(period);
///     let first = interval.tick().await;
///     assert_eq!(interval.tick().await, first + period);
///     assert_eq!(interval.tick().await, first + 2 * period);
/// });
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(host::now(), period)
}

/// Ticks at an instant, and then once every period.
///
/// # Panics
/// As for [`interval`].
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(
        !period.is_zero(),
        "an interval needs a period that is not zero; to let other tasks run, use `joint_executor::yield_now`"
    );
    Interval {
        next: Some(start),
        period,
        missed: MissedTicks::default(),
        alarm: Alarm::new(),
        turn: Turn::new(),
    }
}

/// The behavior of an [`Interval`] when it is late, that is, when a tick is taken at a time when
/// the next one is already due.
///
/// For a period of 10, if every tick is taken as soon as it is due, except for the second one,
/// which is taken at 35:
///
/// | | due at | taken at |
/// |---|---|---|
/// | `Burst` | 0, 10, 20, 30, 40, 50 | 0, 35, 35, 35, 40, 50 |
/// | `Delay` | 0, 10, 45, 55, 65 | 0, 35, 45, 55, 65 |
/// | `Skip` | 0, 10, 40, 50, 60 | 0, 35, 40, 50, 60 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissedTicks {
    /// Catches up. Each tick is due a period after the previous one was due. No tick is skipped,
    /// and there is no wait until all ticks that are due have been taken.
    #[default]
    Burst,
    /// Starts over. The next tick is due a period after the late one was taken.
    Delay,
    /// Skips the ticks that are due already. The next tick is due a multiple of the period after
    /// the late one was due, at the first such instant that is still ahead.
    Skip,
}

/// Ticks, a period apart. Made by [`interval`] and [`interval_at`].
///
/// Ticks follow the clock and not the times at which they are taken, so they do not drift.
/// [`MissedTicks`] says what happens if a task is late. A tick beyond the range of `Instant` never
/// comes.
///
/// Like a [`Sleep`](super::Sleep), it belongs to the executor that it is polled on. It is armed
/// only from a poll that has to wait until the tick.
///
/// # Cost
/// As for a [`Sleep`](super::Sleep), for each tick. It makes no allocation of its own.
#[derive(Debug)]
#[must_use = "an interval does nothing unless `tick` is awaited"]
pub struct Interval {
    /// The time of the next tick, or `None` if that is too far away.
    next: Option<Instant>,
    period: Duration,
    missed: MissedTicks,
    alarm: Alarm,
    turn: Turn,
}

impl Interval {
    /// Sets what the interval does when it is late. The default is [`MissedTicks::Burst`].
    #[doc(alias = "set_missed_tick_behavior")]
    pub fn missed_ticks(mut self, missed: MissedTicks) -> Self {
        self.missed = missed;
        self
    }

    /// Returns the time from one tick to the next.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Waits for the next tick, and returns when it was due. A tick that is due already is taken
    /// without a wait, and without yielding to other tasks as long as the [budget](super#fairness)
    /// lasts.
    ///
    /// The future may be dropped at any time, and no tick is lost.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for the next tick, as [`tick`](Interval::tick) does. Only the waker of the last poll
    /// is woken.
    #[inline]
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        let Some(due) = self.next else {
            return Poll::Pending;
        };
        ready!(self.turn.poll_proceed(cx));
        ready!(self.alarm.poll(When::At(due), cx));
        self.turn.spend();
        // Catching up does not need the current time.
        let now = match self.missed {
            MissedTicks::Burst => due,
            MissedTicks::Delay | MissedTicks::Skip => host::now(),
        };
        self.next = self.missed.next(due, self.period, now);
        Poll::Ready(due)
    }

    /// Waits for the next tick as [`tick`](Interval::tick) does, by the name that a stream has for
    /// it: it is never `None`. With the feature `futures-core` the interval is a `Stream`, too.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is the name that a stream's users call"
    )]
    pub fn next(&mut self) -> impl Future<Output = Option<Instant>> + Unpin {
        poll_fn(|cx| self.poll_tick(cx).map(Some))
    }

    /// Starts over. The next tick is due a period from now, and a task that is waiting is woken
    /// then.
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// Starts over as [`reset`](Interval::reset) does, but the next tick is due at once.
    pub fn reset_immediately(&mut self) {
        self.reset_at(host::now());
    }

    /// Starts over as [`reset`](Interval::reset) does, but the next tick is due so long from now.
    pub fn reset_after(&mut self, duration: Duration) {
        self.start_at(host::now().checked_add(duration));
    }

    /// Starts over as [`reset`](Interval::reset) does, but the next tick is due at that instant. If
    /// that is in the past, [`MissedTicks`] says what follows.
    ///
    /// # Example
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// joint_executor::block_on(async {
    ///     let mut interval = joint_executor::time::interval(Duration::from_secs(3600));
    ///     let at = Instant::now() + Duration::from_millis(1);
    ///     interval.reset_at(at);
    ///     assert_eq!(interval.tick().await, at);
    /// });
    /// ```
    pub fn reset_at(&mut self, instant: Instant) {
        self.start_at(Some(instant));
    }

    fn start_at(&mut self, next: Option<Instant>) {
        self.next = next;
        self.alarm.move_to(When::far(next));
    }
}

/// The ticks, each as the instant when it was due. It never ends.
#[cfg(feature = "futures-core")]
impl futures_core::Stream for Interval {
    type Item = Instant;

    fn poll_next(
        mut self: core::pin::Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Instant>> {
        self.poll_tick(cx).map(Some)
    }
}

impl MissedTicks {
    #[inline]
    fn next(self, due: Instant, period: Duration, now: Instant) -> Option<Instant> {
        let next = due.checked_add(period)?;
        // Compare the instants and not their difference, because on Windows the checked difference
        // is 0, and not `None`, if `now` is up to 100 ns before `next`.
        if now < next {
            return Some(next);
        }
        match self {
            Self::Burst => Some(next),
            Self::Delay => now.checked_add(period),
            Self::Skip => now.checked_add(period - remainder(now - next, period)),
        }
    }
}

fn remainder(duration: Duration, period: Duration) -> Duration {
    let nanos = duration.as_nanos() % period.as_nanos();
    // It does not fit only if the interval is late by more than 584 years.
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The ticks in the documentation of [`MissedTicks`], as pairs of when each is due and taken.
    fn ticks(missed: MissedTicks) -> Vec<(u64, u64)> {
        let start = host::now();
        let at = |units| start + Duration::from_secs(units);
        let (mut due, mut ticks) = (start, Vec::new());
        for stall in [0, 35, 0, 0, 0] {
            let units = (due - start).as_secs();
            let before = ticks.last().map_or(0, |&(_, taken)| taken);
            let taken = units.max(stall).max(before);
            ticks.push((units, taken));
            due = missed
                .next(due, Duration::from_secs(10), at(taken))
                .unwrap();
        }
        ticks
    }

    #[test]
    fn ticks_are_due_when_the_documentation_says() {
        let burst = [(0, 0), (10, 35), (20, 35), (30, 35), (40, 40)];
        assert_eq!(ticks(MissedTicks::Burst), burst);
        let delay = [(0, 0), (10, 35), (45, 45), (55, 55), (65, 65)];
        assert_eq!(ticks(MissedTicks::Delay), delay);
        let skip = [(0, 0), (10, 35), (40, 40), (50, 50), (60, 60)];
        assert_eq!(ticks(MissedTicks::Skip), skip);
    }
}
