//! [`Timeout`]: another future, with a deadline.

use core::{
    error::Error,
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use std::{io, time::Instant};

use super::alarm::{Alarm, When};
use joint::budget::{self, Turn};

/// Awaits `future` for at most `duration`, which starts with this call.
///
/// Each poll polls the future before it checks the deadline, so an output that is ready at the
/// deadline is not too late. With a duration of zero the future is polled once. In either case the
/// future is dropped before the result is returned.
///
/// A future that never has to wait, such as a loop over a descriptor that is always ready, uses up
/// the [budget](super#fairness) of its task's poll after 128 operations. The deadline is then
/// checked against the clock. If it has passed, the future may do up to 128 operations more,
/// because it may have been ready but for the budget. A future that does not use `io` or `time` and
/// never returns from its poll cannot be stopped.
///
/// # Example
/// ```
/// use std::{future::pending, time::Duration};
/// use joint_executor::time::{sleep, timeout};
///
/// joint_executor::block_on(async {
///     assert_eq!(timeout(Duration::from_secs(60), async { 7 }).await, Ok(7));
///     let late = timeout(Duration::from_millis(1), pending::<()>()).await;
///     assert_eq!(late.unwrap_err().to_string(), "the deadline has passed");
/// });
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout::of(When::after(duration), future)
}

/// Awaits `future` until an instant at most, as [`timeout`] does for a duration.
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout::of(When::At(deadline), future)
}

/// The future of [`timeout`] and [`timeout_at`]. Its output is that of the inner future, or
/// [`Elapsed`].
///
/// # Panics
/// Panics if it is polled again after it was ready, and as [`sleep`](super::sleep()) does.
///
/// # Cost
/// If the inner future is ready at the first poll, at most one read of the clock, when the timeout
/// is made. Otherwise as for a [`Sleep`](super::Sleep). The inner future is stored inline, without
/// an allocation.
#[must_use = "futures do nothing unless awaited"]
pub struct Timeout<F> {
    /// The inner future, which is pinned with the timeout, or `None` after the end. It comes first
    /// so that it is dropped before the alarm.
    future: Option<F>,
    deadline: Deadline,
}

struct Deadline {
    when: When,
    alarm: Alarm,
    turn: Turn,
    /// How many operations the future may still do after the deadline.
    grace: u8,
}

/// What `grace` begins with, which is the budget of a poll.
const GRACE: u8 = 128;

impl<F: Future> Timeout<F> {
    fn of(when: When, future: impl IntoFuture<IntoFuture = F>) -> Self {
        Self {
            future: Some(future.into_future()),
            deadline: Deadline {
                when,
                alarm: Alarm::new(),
                turn: Turn::new(),
                grace: GRACE,
            },
        }
    }
}

impl<F> Timeout<F> {
    /// Returns the deadline, or `None` if it is too far away to be reached. For a [`timeout`] of
    /// zero it returns the time of this call.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.when.instant()
    }

    /// Returns the fields, of which only the future is pinned.
    fn project(self: Pin<&mut Self>) -> (Pin<&mut Option<F>>, &mut Deadline) {
        // SAFETY: the future is not moved below, there is no `Drop` that could move it, and `Unpin`
        // requires that the future is `Unpin`.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with `self`, as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        (future, &mut this.deadline)
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (mut future, deadline) = self.project();
        let Some(mut operation) = future.as_mut().as_pin_mut() else {
            panic!("a `Timeout` was polled again after it was ready; do not poll it after that");
        };
        let before = budget::left();
        let mut polled = operation.as_mut().poll(cx);
        // Without a budget, a future that was refused could not be told from a late one.
        if polled.is_pending() && before == 0 {
            ready!(deadline.poll_turn(cx));
            polled = operation.poll(cx);
        }
        let output = match polled {
            Poll::Ready(output) => Ok(output),
            Poll::Pending => {
                ready!(deadline.poll(before, cx));
                budget::spend();
                Err(Elapsed(()))
            }
        };
        // Dropping the waker here, or the future below, may panic.
        drop(deadline.alarm.disarm());
        future.set(None);
        Poll::Ready(output)
    }
}

impl Deadline {
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let turn = self.turn.poll_proceed(cx);
        // The thread that would fire the alarm may not do so before the next poll.
        if turn.is_pending() && self.alarm.is_armed() && self.when.has_come() {
            drop(self.alarm.disarm());
        }
        turn
    }

    /// Polls for the end of a future that is pending after a poll with this budget.
    fn poll(&mut self, before: u64, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.alarm.poll(self.when, cx));
        if budget::has_left() || self.grace == 0 {
            return Poll::Ready(());
        }
        // The future has done all that it may, and its next operation may have been refused.
        let done = u8::try_from(before).unwrap_or(GRACE);
        self.grace = self.grace.saturating_sub(done.max(1));
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<F> fmt::Debug for Timeout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout")
            .field("when", &self.deadline.when)
            .field("has_ended", &self.future.is_none())
            .field("alarm", &self.deadline.alarm)
            .finish_non_exhaustive()
    }
}

/// The error of [`Timeout`]: the deadline passed before the future was ready.
///
/// It converts to an [`io::Error`] of the kind [`TimedOut`](io::ErrorKind::TimedOut).
///
/// # Example
/// ```
/// use std::{future::pending, io, time::Duration};
/// use joint_executor::time::timeout;
///
/// async fn read() -> io::Result<u8> {
///     timeout(Duration::ZERO, pending()).await?
/// }
///
/// assert_eq!(joint_executor::block_on(read()).unwrap_err().kind(), io::ErrorKind::TimedOut);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline has passed")
    }
}

impl Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(io::ErrorKind::TimedOut, elapsed)
    }
}
