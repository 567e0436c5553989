//! [`Alarm`]: a timer of the executor's, while it is armed. What all that waits for a time is made of.
//!
//! | | `armed` | what a poll does |
//! |---|---|---|
//! | idle | none | looks at the clock: ready, or arms it with the executor that the thread belongs to |
//! | armed | which timer of which queue | asks there: ready and idle, or leaves its waker |
//! | orphaned: armed, but that executor has gone | as before | as idle |

use alloc::sync::Arc;
use core::{
    fmt,
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::time::Instant;

use crate::{
    executor::{
        DriverHandle,
        driver::{
            clock::{self, NEVER},
            timers::{Closed, Key, Timers},
        },
    },
    waker::budget,
};

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// No time at all: for this, nobody looks at a clock.
    Now,
    At(Instant),
    Never,
}

impl When {
    /// So long from now on.
    pub(super) fn after(duration: Duration) -> Self {
        if duration.is_zero() {
            return Self::Now;
        }
        Self::far(Instant::now().checked_add(duration))
    }

    /// An instant, or what is too far away to be one.
    pub(super) fn far(instant: Option<Instant>) -> Self {
        instant.map_or(Self::Never, Self::At)
    }

    pub(super) fn has_come(self) -> bool {
        match self {
            Self::Now => true,
            Self::At(instant) => Instant::now() >= instant,
            Self::Never => false,
        }
    }

    /// None: never.
    pub(super) fn instant(self) -> Option<Instant> {
        match self {
            Self::Now => Some(Instant::now()),
            Self::At(instant) => Some(instant),
            Self::Never => None,
        }
    }
}

/// Disarmed when it is dropped.
pub(super) struct Alarm {
    armed: Option<Armed>,
}

/// The timer is there until it is removed, or has been found to have fired.
struct Armed {
    timers: Arc<Timers>,
    key: Key,
}

impl Alarm {
    pub(super) const fn new() -> Self {
        Self { armed: None }
    }

    pub(super) fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Ready when the time has come. Otherwise the waker is woken then. While it is armed, it goes by the time that it was armed for.
    pub(super) fn poll(&mut self, when: When, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(armed) = &self.armed {
            match armed.timers.poll(&armed.key, cx.waker()) {
                // Whoever would fire it may not get to it before this task has given way, or not at
                // all if this is a blocking wait.
                Ok(false) if !budget::is_used_up() || !when.has_come() => return Poll::Pending,
                Ok(false) => {
                    drop(self.disarm());
                    return Poll::Ready(());
                }
                Ok(true) => {
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

    /// As [`poll`](Alarm::poll) when it is idle, for a time that was yet to come just now: nobody looks at the clock again. If it has
    /// come meanwhile, it is fired before long.
    pub(super) fn wait(&mut self, when: When, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(deadline) = deadline(when) {
            self.arm(deadline, cx.waker().clone());
        }
        Poll::Pending
    }

    /// Goes by another time from now on. Whoever would have been woken at the old one is woken at the new one. False: nobody would.
    pub(super) fn move_to(&mut self, when: When) -> bool {
        let Some(waker) = self.disarm() else {
            return false;
        };
        if when.has_come() {
            waker.wake();
        } else if let Some(deadline) = deadline(when) {
            self.arm(deadline, waker);
        }
        true
    }

    /// The waker, if it would have been woken.
    pub(super) fn disarm(&mut self) -> Option<Waker> {
        let armed = self.armed.take()?;
        armed.timers.remove(&armed.key)
    }

    fn arm(&mut self, deadline: u64, waker: Waker) {
        let refused: Result<(), Waker> = DriverHandle::with(|handle, timers| {
            let (key, is_first) = timers.insert(deadline, waker)?;
            let timers = timers.clone();
            self.armed = Some(Armed { timers, key });
            if is_first {
                handle.hurry(deadline);
            }
            Ok(())
        });
        if let Err(waker) = refused {
            // The executor has ended under this call. The next poll finds another.
            waker.wake();
        }
    }
}

/// In the timers' units; none for never.
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
        f.write_str(if self.is_armed() { "Armed" } else { "Idle" })
    }
}
