//! [`Alarm`]: a timer in an executor's queue while it is armed. Every type of this module is built
//! on it.
//!
//! | state | a poll |
//! |---|---|
//! | [`Idle`](State::Idle) | reads the clock: is ready, or arms it on the executor that the thread belongs to |
//! | [`Armed`](State::Armed) | checks the timer: becomes idle and is ready, or registers its waker |
//! | orphaned (armed, but its executor has shut down) | as when idle |
//! | [`Endless`](State::Endless) | as when idle |

use alloc::sync::Arc;
use core::{
    fmt,
    mem::{self, ManuallyDrop},
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
use joint::{budget, host::now, waker::ThinWaker};

#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// At once, without reading the clock.
    Now,
    At(Instant),
    Never,
}

impl When {
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
pub(super) struct Alarm(
    /// Idle once the drop has disarmed it, so that nothing is left to drop.
    ManuallyDrop<State>,
);

enum State {
    Idle,
    /// A queue and a timer in it. The queue has the timer until it is removed, or is found to have
    /// fired.
    Armed(Arc<Timers>, Key),
    /// Somebody waits for a time that never comes, until the alarm is moved.
    Endless(ThinWaker),
}

impl Alarm {
    pub(super) const fn new() -> Self {
        Self(ManuallyDrop::new(State::Idle))
    }

    pub(super) fn is_armed(&self) -> bool {
        matches!(*self.0, State::Armed(..))
    }

    /// Returns `Ready` if the time has come, and otherwise registers the waker to be woken then.
    /// While it is armed, the time that it was armed for counts, and not `when`.
    pub(super) fn poll(&mut self, when: When, cx: &mut Context<'_>) -> Poll<()> {
        if let State::Armed(timers, key) = &*self.0 {
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
                    *self.0 = State::Idle;
                    return Poll::Ready(());
                }
                Err(Closed) => *self.0 = State::Idle,
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
        match deadline(when) {
            Some(deadline) => self.arm(deadline, cx.waker().clone(), None),
            None => self.wait_endlessly(cx.waker()),
        }
        Poll::Pending
    }

    #[cold]
    fn wait_endlessly(&mut self, waker: &Waker) {
        match &*self.0 {
            State::Endless(waiter) if waiter.will_wake(waker) => {}
            _ => *self.0 = State::Endless(waker.into()),
        }
    }

    /// Moves the alarm to another time, at which a registered waker is woken instead. If there is
    /// none, it is idle. The waker is woken at once if this thread cannot know on which executor it
    /// waits: the poll that follows arms the alarm there.
    pub(super) fn move_to(&mut self, when: When) {
        let (waker, home) = match mem::replace(&mut *self.0, State::Idle) {
            State::Idle => return,
            State::Armed(timers, key) => (timers.remove(&key), Some(timers)),
            State::Endless(waiter) => (Some(waiter.into()), None),
        };
        let Some(waker) = waker else { return };
        match (deadline(when), home) {
            (None, _) => *self.0 = State::Endless(waker.into()),
            (Some(deadline), Some(home)) if !when.has_come() => {
                self.arm(deadline, waker, Some(&home));
            }
            (Some(_), _) => waker.wake(),
        }
    }

    /// Disarms the alarm, and returns the waker if it has not been woken yet.
    pub(super) fn disarm(&mut self) -> Option<Waker> {
        match mem::replace(&mut *self.0, State::Idle) {
            State::Idle => None,
            State::Armed(timers, key) => timers.remove(&key),
            State::Endless(waiter) => Some(waiter.into()),
        }
    }

    /// Arms it on the executor that this thread belongs to, if these timers are of that one.
    fn arm(&mut self, deadline: u64, waker: Waker, home: Option<&Arc<Timers>>) {
        let refused: Result<(), Waker> = DriverHandle::with(|handle, timers| {
            let is_home = |home| Arc::ptr_eq(home, timers) || handle.has(home);
            if !home.is_none_or(is_home) {
                return Err(waker);
            }
            let (key, earliest) = timers.insert(deadline, waker)?;
            *self.0 = State::Armed(timers.clone(), key);
            if earliest == Earliest::Sooner {
                handle.hurry(deadline);
            }
            // The hook comes last, because it may wait for the timer.
            handle.armed(deadline);
            Ok(())
        });
        if let Err(waker) = refused {
            // The executor shut down during this call, or is another one. The next poll finds its
            // own.
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
    #[inline]
    fn drop(&mut self) {
        drop(self.disarm());
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self.0 {
            State::Idle => "Idle",
            State::Armed(..) => "Armed",
            State::Endless(_) => "Endless",
        })
    }
}
