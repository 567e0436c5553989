//! Timers, which let tasks wait for a time.
//!
//! | timer | waits |
//! |---|---|
//! | [`sleep`](sleep()), [`sleep_until`] | once |
//! | [`Timer`] | for its duration, each time that it is awaited |
//! | [`interval`](interval()), [`interval_at`] | for one tick after another, a period apart |
//! | [`timeout`](timeout()), [`timeout_at`] | for another future, up to a deadline |
//!
//! A timer belongs to the [executor](crate#timers-and-descriptors) whose worker polls it first, or
//! that the thread is in. In a task of another crate's executor, the first timer therefore starts
//! the global executor and its threads. After that it can be moved to any thread and polled with
//! any waker. If its executor is dropped, it moves to the one that it is polled on next.
//!
//! # Time
//! Timers use the clock of [`Instant`], which never goes back, and which [`now`] reads. A timer is
//! never early. It is late by the time that the system needs to wake a thread, and by the polls
//! that its worker runs first. Timers with the same deadline and the same worker fire in the order
//! in which they were armed. If two deadlines are less than five microseconds apart and both have
//! passed, their timers may fire in the order in which they were armed, too.
//!
//! The workers of an executor serve its timers between polls, while they are idle, and while they
//! are blocked in a [`block_on`](joint::block_on). If the worker that serves them begins a long
//! poll, an idle worker takes over, after a few milliseconds at the latest. While every worker is
//! in a poll that blocks in another way or does not end, no timer fires.
//!
//! A deadline beyond the range of `Instant`, or more than 584 years ahead, is never reached.
//!
//! # Fairness
//! A wait that ends takes one from the [budget](joint::budget) of its task's poll, as an
//! operation on a ready descriptor does. A loop over ticks that are already due, or over timeouts
//! of zero, therefore yields to other tasks after 128 of them.
//!
//! # Cost
//! A timer needs no descriptor, no other object of the system, and no allocation of its own. While
//! it is armed, it takes 40 bytes in the queue of its worker. A timer that is given up may leave 16
//! bytes there for a while, but no more than one for each timer of the worker. The queue's vectors
//! double as they grow: a million timers take less than 48 bytes each. Arming a timer costs
//! O(log n) for n timers, and O(1) if few of them are later. Disarming it costs O(1) on average.
//! Both are done under a lock that other workers seldom use.

mod alarm;
mod interval;
mod sleep;
mod timeout;
mod timer;

use std::time::{Instant, SystemTime};

use crate::hosted;
use joint::host;

#[doc(alias = "MissedTickBehavior")]
pub use self::interval::MissedTicks;
#[doc(alias = "Timer")]
pub use self::sleep::sleep;
pub use self::{
    interval::{Interval, interval, interval_at},
    sleep::{Sleep, sleep_until},
    timeout::{Elapsed, Timeout, timeout, timeout_at},
    timer::Timer,
};

/// Returns the time on the clock of this module's timers.
///
/// That is [`Instant::now`], unless the thread's [`joint::host`] has a time of its own, as in
/// `joint-sim`. A program that reads the time by this function can run there.
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// let start = joint_executor::time::now();
/// joint_executor::block_on(joint_executor::time::sleep(Duration::from_millis(2)));
/// assert!(joint_executor::time::now() - start >= Duration::from_millis(2));
/// ```
pub fn now() -> Instant {
    host::now()
}

/// Returns the time of the wall clock, which may be wrong, and may be set forward or back.
///
/// That is [`SystemTime::now`], unless the thread's [`Host`](crate::hosted::Host) has a clock of
/// its own, as in `joint-sim`. A program that reads the wall clock by this function can run there.
/// Timers do not follow the wall clock.
///
/// # Cost
/// Without a host, the load of a thread-local and a branch beside the call of the system.
pub fn wall() -> SystemTime {
    let hosts = hosted::host().and_then(|host| host.wall());
    hosts.unwrap_or_else(SystemTime::now)
}
