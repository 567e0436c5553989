//! [`Alarm`]: a timer in an executor's queue while it is armed. Every type of this module is built
//! on it.
//!
//! | state | `armed` | a poll |
//! |---|---|---|
//! | idle | `None` | reads the clock: is ready, or arms it on the executor that the thread belongs to |
//! | armed | a queue and the key of a timer in it | checks the timer: becomes idle and is ready, or registers its waker |
//! | orphaned (armed, but its executor has shut down) | as when armed | as when idle |

use alloc::sync::Arc;
use core::{
    fmt,
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::time::Instant;

use crate::{
    DriverHandle,
    driver::{
        clock::{self, NEVER},
        timers::{Closed, Earliest, Key, Timers},
    },
};
use joint::waker::{budget, clock::now};

/// The time to wait for.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// At once, without reading the clock.
    Now,
    At(Instant),
    Never,
}

impl When {
    /// Returns the time that is `duration` from now.
    pub(super) fn after(duration: Duration) -> Self {
        if duration.is_zero() {
            return Self::Now;
        }
        Self::far(now().checked_add(duration))
    }

    /// Returns the time of an instant, or `Never` for one that is out of range.
    pub(super) fn far(instant: Option<Instant>) -> Self {
        instant.map_or(Self::Never, Self::At)
    }

    pub(super) fn has_come(self) -> bool {
        match self {
            Self::Now => true,
            Self::At(instant) => now() >= instant,
            Self::Never => false,
        }
    }

    /// Returns the instant, or `None` for never.
    pub(super) fn instant(self) -> Option<Instant> {
        match self {
            Self::Now => Some(now()),
            Self::At(instant) => Some(instant),
            Self::Never => None,
        }
    }
}

/// A timer that is disarmed when it is dropped.
pub(super) struct Alarm {
    /// A queue and a timer in it. The queue has the timer until it is removed, or is found to have
    /// fired.
    pub(super) armed: Option<(Arc<Timers>, Key)>,
}

impl Alarm {
    pub(super) const fn new() -> Self {
        Self { armed: None }
    }

    /// Returns `Ready` if the time has come, and otherwise registers the waker to be woken then.
    /// While it is armed, the time that it was armed for counts, and not `when`.
    pub(super) fn poll(&mut self, when: When, cx: &mut Context<'_>) -> Poll<()> {
        if let Some((timers, key)) = &self.armed {
            match timers.poll(key, cx.waker()) {
                // The thread that would fire it may not do so before this task yields, or never if
                // this is a blocking wait.
                Ok(Poll::Pending) if !budget::is_used_up() || !when.has_come() => {
                    return Poll::Pending;
                }
                Ok(Poll::Pending) => {
                    drop(self.disarm());
                    return Poll::Ready(());
                }
                Ok(Poll::Ready(())) => {
                    self.armed = None;
                    return Poll::Ready(());
                }
                Err(Closed) => self.armed = None,
            }
        }
        if when.has_come() {
            return Poll::Ready(());
        }
        self.wait(when, cx)
    }

    /// Polls as [`poll`](Alarm::poll) does when idle, for a time that was still ahead a moment ago,
    /// so that the clock is not read again. If it has passed meanwhile, the timer fires soon.
    pub(super) fn wait(&mut self, when: When, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(deadline) = deadline(when) {
            self.arm(deadline, cx.waker().clone());
        }
        Poll::Pending
    }

    /// Moves the alarm to another time, at which a registered waker is woken instead. If there is
    /// none, it is idle.
    pub(super) fn move_to(&mut self, when: When) {
        let Some(waker) = self.disarm() else { return };
        if when.has_come() {
            waker.wake();
        } else if let Some(deadline) = deadline(when) {
            self.arm(deadline, waker);
        }
    }

    /// Disarms the alarm, and returns the waker if it has not been woken yet.
    pub(super) fn disarm(&mut self) -> Option<Waker> {
        let (timers, key) = self.armed.take()?;
        timers.remove(&key)
    }

    fn arm(&mut self, deadline: u64, waker: Waker) {
        let refused: Result<(), Waker> = DriverHandle::with(|handle, timers| {
            let (key, earliest) = timers.insert(deadline, waker)?;
            self.armed = Some((timers.clone(), key));
            if earliest == Earliest::Sooner {
                handle.hurry(deadline);
            }
            // The hook comes last, because it may wait for the timer.
            handle.armed(deadline);
            Ok(())
        });
        if let Err(waker) = refused {
            // The executor shut down during this call. The next poll finds another.
            waker.wake();
        }
    }
}

/// Returns the deadline in the units of the timers' clock, or `None` for never.
fn deadline(when: When) -> Option<u64> {
    let deadline = clock::nanos(when.instant()?);
    (deadline != NEVER).then_some(deadline)
}

impl Drop for Alarm {
    fn drop(&mut self) {
        drop(self.disarm());
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.armed.is_some() {
            "Armed"
        } else {
            "Idle"
        })
    }
}
