//! Timers: tasks that wait for a time.
//!
//! | | waits |
//! |---|---|
//! | [`sleep`](sleep()), [`sleep_until`] | once |
//! | [`Timer`] | for its duration anew, each time it is awaited |
//! | [`interval`](interval()), [`interval_at`] | for one tick after the other, a period apart |
//! | [`timeout`](timeout()), [`timeout_at`] | for another future, but no longer |
//!
//! A timer belongs to the executor whose worker polls it first. On a thread that is no worker, that
//! is the executor in whose [`block_on`](crate::Executor::block_on) the thread is, or else the
//! [global](crate::Executor::global) one. From there it can be moved to any thread, and polled with
//! any waker. When its executor is dropped, it goes on with the one that it is polled on next.
//!
//! # Time
//! All of it is that of [`Instant`](std::time::Instant), which never goes back. A timer is never early. It is late by what the system needs to wake a
//! thread, and by the polls that are before it on its worker. Timers of one deadline and one worker are served in the order in which they
//! were armed.
//!
//! Timers are served by the workers of their executor, between polls and when they have nothing to do, and while they are blocked in a
//! [`block_on`](crate::block_on). When the one that serves them begins a poll that takes long, another that has nothing to do takes
//! over, after some milliseconds at the latest. While all of them are in polls that block otherwise, or do not end, none is served.
//!
//! What is farther away than an `Instant` can say never comes; so does what is more than 584 years ahead.
//!
//! # Fairness
//! A wait that is over takes one from the [budget](crate::io#fairness) of its task's poll, as a
//! descriptor that is ready does: so a loop over ticks that are due, or over timeouts of zero,
//! gives way to other tasks after 128 of them.
//!
//! # Cost
//! No timer has a descriptor, an object of the system's or memory of its own: it takes 40 bytes in the queue of its worker while it
//! is armed. To arm and to disarm it costs O(log n) of the timers there, under a lock that other workers do not use.

mod alarm;
mod interval;
mod sleep;
mod timeout;
mod timer;

pub use self::{
    interval::{Interval, MissedTicks, interval, interval_at},
    sleep::{Sleep, sleep, sleep_until},
    timeout::{Elapsed, Timeout, timeout, timeout_at},
    timer::Timer,
};
