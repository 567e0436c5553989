//! [`Sleep`]: a wait for one point in time.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use std::time::Instant;

use super::alarm::{Alarm, When};
use joint::budget::Turn;

/// Waits for a duration, which starts with this call.
///
/// A duration of zero is a [`yield_now`](crate::yield_now()): other tasks get their turn, and the
/// clock is not read. If the end is beyond the range of `Instant`, the wait never ends.
///
/// # Panics
/// Awaiting it panics if its first poll is on a thread that is no worker, and the
/// [global](crate::Executor::global) executor is needed and cannot be started.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::after(duration)
}

/// Waits until an instant. If it has passed already, other tasks get their turn, as for a [`sleep`]
/// of zero.
///
/// # Panics
/// As for [`sleep`].
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::of(When::At(deadline))
}

/// The future of [`sleep`] and [`sleep_until`].
///
/// The first poll arms it, on the executor whose worker polls it. After that it may be moved to and
/// polled on any thread, and the waker of the last poll is woken. If the time has already passed at
/// the first poll, that poll is pending, and the second one is ready. The waker is then woken at
/// once, or for a `Sleep` of [`sleep`], as soon as a worker checks the driver. Once it is ready it
/// stays ready, and can be awaited again without a wait, as often as the [budget](super#fairness)
/// allows. [`reset`](Sleep::reset) starts a new wait.
///
/// # Happens-before
/// Everything before the poll that armed it, or that registered its waker, happens before that
/// waker is woken.
///
/// # Cost
/// Arming it, polling it again with the same waker, and dropping it while it is armed each take a
/// lock that other workers do not use, and are O(1) while the deadline is [far](super#cost).
///
/// # Example
/// ```
/// use std::time::{Duration, Instant};
///
/// let mut sleep = joint_executor::time::sleep(Duration::from_millis(1));
/// joint_executor::block_on(&mut sleep);
/// assert!(sleep.is_elapsed());
/// sleep.reset(Instant::now() + Duration::from_millis(1));
/// joint_executor::block_on(sleep);
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    when: When,
    alarm: Alarm,
    stage: Stage,
    turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Never polled. If the time has passed, it yields first.
    New,
    /// Never polled, and the time was still ahead when it was made.
    NewAhead,
    Waiting,
    Elapsed,
}

impl Sleep {
    pub(super) const fn of(when: When) -> Self {
        Self {
            when,
            alarm: Alarm::new(),
            stage: Stage::New,
            turn: Turn::new(),
        }
    }

    pub(super) fn after(duration: Duration) -> Self {
        let when = When::after(duration);
        let stage = match when {
            When::At(_) => Stage::NewAhead,
            When::Now | When::Never => Stage::New,
        };
        Self {
            stage,
            ..Self::of(when)
        }
    }

    /// Returns when the wait ends, or `None` if that is too far away to be reached. For a [`sleep`]
    /// of zero it returns the time of this call.
    pub fn deadline(&self) -> Option<Instant> {
        self.when.instant()
    }

    /// Returns whether the time has passed, even if it was not awaited. Reads the clock, unless the
    /// wait has ended.
    pub fn is_elapsed(&self) -> bool {
        self.stage == Stage::Elapsed || self.when.has_come()
    }

    /// Sets another instant to wait for, even if the wait has ended.
    ///
    /// A task that is waiting is woken at the new time instead of the old one, or at once if the
    /// new time has passed. It is also woken at once, and waits on, if this is a thread of another
    /// executor than the timer, or if the old time was never to be reached.
    pub fn reset(&mut self, deadline: Instant) {
        self.when = When::At(deadline);
        if self.stage != Stage::Waiting {
            self.stage = Stage::New;
        }
        self.alarm.move_to(self.when);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        ready!(this.turn.poll_proceed(cx));
        if this.stage == Stage::Elapsed {
            this.turn.spend();
            return Poll::Ready(());
        }
        let is_new = this.stage == Stage::New;
        let polled = match this.stage {
            Stage::NewAhead => this.alarm.wait(this.when, cx),
            _ => this.alarm.poll(this.when, cx),
        };
        this.stage = Stage::Waiting;
        ready!(polled);
        if is_new {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.stage = Stage::Elapsed;
        this.turn.spend();
        Poll::Ready(())
    }
}
