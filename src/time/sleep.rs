//! [`Sleep`]: a wait that ends once.

use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use std::time::Instant;

use super::alarm::{Alarm, When};
use crate::waker::budget;

/// Waits for a duration, which counts from this call.
///
/// Zero is a [`yield_now`](crate::yield_now): other tasks get their turn, and no clock is looked at. What is too long to be told never ends.
///
/// # Panics
/// When it is first awaited on a thread that is no worker and the [global](crate::Executor::global) executor cannot be started.
///
/// # Example
/// ```
/// use std::time::{Duration, Instant};
/// use joint::time::sleep;
///
/// let begin = Instant::now();
/// joint::block_on(sleep(Duration::from_millis(3)));
/// assert!(begin.elapsed() >= Duration::from_millis(3));
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::after(duration)
}

/// Waits until an instant. One that has passed is waited for as [`sleep`] waits for zero.
///
/// # Panics
/// As [`sleep`].
///
/// # Example
/// ```
/// use std::time::{Duration, Instant};
/// use joint::time::sleep_until;
///
/// let due = Instant::now() + Duration::from_millis(3);
/// joint::block_on(sleep_until(due));
/// assert!(Instant::now() >= due);
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::of(When::At(deadline))
}

/// A wait for a time: of [`sleep`] and [`sleep_until`].
///
/// Its first poll arms it, with the executor whose worker polls it. It may be moved and polled on
/// any other thread after that; the waker of its last poll is woken. When the time has passed
/// already at its first poll, it wakes that waker at once, or, if it is one of [`sleep`], as soon
/// as a worker looks at the driver; and is ready at its second. Once it is ready it stays so, and
/// can be awaited again without a wait, as often as the [budget](super#fairness) allows;
/// [`reset`](Sleep::reset) begins anew.
///
/// # Happens-before
/// What came before the poll that armed it, or left its waker, comes before that waker is woken.
///
/// # Cost
/// To arm it: a lock that other workers do not use, and O(log n) of the timers that the worker has. To poll it again with the same waker: the
/// lock. To drop it armed: the lock and O(log n).
///
/// # Example
/// ```
/// use std::time::{Duration, Instant};
///
/// let mut sleep = joint::time::sleep(Duration::from_millis(1));
/// joint::block_on(&mut sleep);
/// assert!(sleep.is_elapsed());
/// sleep.reset(Instant::now() + Duration::from_millis(1));
/// joint::block_on(sleep);
/// ```
#[must_use = "a sleep waits only when it is awaited"]
pub struct Sleep {
    when: When,
    alarm: Alarm,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Never polled: if the time has come, it yields first.
    New,
    /// Never polled, and the time was yet to come just now.
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

    /// When it ends. None: never, because that is too far away. For [`sleep`] of zero it is the time of this call.
    pub fn deadline(&self) -> Option<Instant> {
        self.when.instant()
    }

    /// Whether the time has come, awaited or not. It looks at the clock, unless the wait has ended.
    pub fn is_elapsed(&self) -> bool {
        self.stage == Stage::Elapsed || self.when.has_come()
    }

    /// Waits until another instant instead, also when it has ended.
    ///
    /// A task that waits for it meanwhile is woken at the new time, and not at the old one; if the new one has passed, at once.
    pub fn reset(&mut self, deadline: Instant) {
        let when = When::At(deadline);
        self.when = when;
        self.stage = Stage::New;
        if self.alarm.move_to(when) {
            self.stage = Stage::Waiting;
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        ready!(budget::poll_turn(cx));
        if this.stage == Stage::Elapsed {
            budget::spend();
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
        budget::spend();
        Poll::Ready(())
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("when", &self.when)
            .field("stage", &self.stage)
            .field("alarm", &self.alarm)
            .finish()
    }
}
