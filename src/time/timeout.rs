//! [`Timeout`]: another future, but no longer than until a time.

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
use crate::waker::budget;

/// Awaits `future` for at most so long, counted from this call.
///
/// The future is polled first, each time: what is ready by the end is not too late. For zero it is polled once. Whoever awaits the
/// result resumes when the future has been dropped, either way.
///
/// A future that never has to wait, such as a loop over a descriptor that is always ready, uses up
/// the [budget](super#fairness) of its task's poll, after 128 operations: then the deadline is
/// looked at, by the clock. One that does not wait for `io` or `time` and never returns from its
/// poll cannot be given up.
///
/// # Example
/// ```
/// use std::{future::pending, time::Duration};
/// use joint::time::{sleep, timeout};
///
/// joint::block_on(async {
///     assert_eq!(timeout(Duration::from_secs(60), async { 7 }).await, Ok(7));
///     let late = timeout(Duration::from_millis(1), pending::<()>()).await;
///     assert_eq!(late.unwrap_err().to_string(), "the deadline has passed");
/// });
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout::of(When::after(duration), future)
}

/// Awaits `future` until an instant, and no longer: as [`timeout`].
///
/// # Example
/// ```
/// use std::{future::pending, time::{Duration, Instant}};
///
/// let end = Instant::now() + Duration::from_millis(1);
/// let late = joint::block_on(joint::time::timeout_at(end, pending::<()>()));
/// assert!(late.is_err() && Instant::now() >= end);
/// ```
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout::of(When::At(deadline), future)
}

/// A future, and the time that it has: of [`timeout`] and [`timeout_at`]. Its output is the future's, or [`Elapsed`].
///
/// # Panics
/// When it is polled again after it was ready; and as [`sleep`](super::sleep()).
///
/// # Cost
/// Nothing but a look at the clock when it is made, if the future is ready at the first poll. Otherwise as for a
/// [`Sleep`](super::Sleep). The future lies in it: no memory of its own.
#[must_use = "futures do nothing unless awaited"]
pub struct Timeout<F> {
    /// Pinned with it. None: it has ended. Dropped first, should both be dropped.
    future: Option<F>,
    when: When,
    alarm: Alarm,
}

impl<F: Future> Timeout<F> {
    fn of(when: When, future: impl IntoFuture<IntoFuture = F>) -> Self {
        Self {
            future: Some(future.into_future()),
            when,
            alarm: Alarm::new(),
        }
    }
}

impl<F> Timeout<F> {
    /// When the time is over. None: never, because that is too far away. For [`timeout`] of zero it is the time of this call.
    pub fn deadline(&self) -> Option<Instant> {
        self.when.instant()
    }

    /// The parts, of which only the future is pinned.
    fn project(self: Pin<&mut Self>) -> (Pin<&mut Option<F>>, When, &mut Alarm) {
        // SAFETY: the future is not moved below, there is no `Drop` that could, and `Unpin` asks for the future's.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with `self`, as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        (future, this.when, &mut this.alarm)
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (mut future, when, alarm) = self.project();
        let Some(operation) = future.as_mut().as_pin_mut() else {
            panic!("a timeout was polled again after it was ready");
        };
        let had_left = budget::has_left();
        let output = match operation.poll(cx) {
            Poll::Ready(output) => Ok(output),
            Poll::Pending => {
                // What the operation has used up must not keep it from being given up.
                if !had_left {
                    ready!(budget::poll_turn(cx));
                }
                ready!(alarm.poll(when, cx));
                budget::spend();
                Err(Elapsed(()))
            }
        };
        // The waker that is dropped here, and the future, may panic.
        drop(alarm.disarm());
        future.set(None);
        Poll::Ready(output)
    }
}

impl<F> fmt::Debug for Timeout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout")
            .field("when", &self.when)
            .field("has_ended", &self.future.is_none())
            .field("alarm", &self.alarm)
            .finish_non_exhaustive()
    }
}

/// The time was over before the future was ready: of [`Timeout`].
///
/// As an [`io::Error`] it is of the kind [`TimedOut`](io::ErrorKind::TimedOut).
///
/// # Example
/// ```
/// use std::{future::pending, io, time::Duration};
/// use joint::time::timeout;
///
/// async fn read() -> io::Result<u8> {
///     timeout(Duration::ZERO, pending()).await?
/// }
///
/// assert_eq!(joint::block_on(read()).unwrap_err().kind(), io::ErrorKind::TimedOut);
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
