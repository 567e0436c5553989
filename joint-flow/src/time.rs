//! Time, yielding and priorities.
//!
//! | Flow | here | what is different |
//! |---|---|---|
//! | `now()` | [`now`] | reads the clock at each call, not once in a turn of the run loop |
//! | `delay(seconds)` | [`delay`] | nothing |
//! | `yield()` | [`yield_now`] | always yields; Flow's seldom does |
//! | `timeout(future, seconds)` | [`timeout`] | an expiry is the error [`Elapsed`] |
//! | `TaskPriority` | [`Priority`], by [`TaskBuilder`] | there are two: see below |
//!
//! # Ties
//! [`timeout`] polls the operation before it looks at the clock. An operation that is ready when
//! the timeout is polled therefore wins, also after the deadline and with a timeout of zero. So
//! does one that itself waits for a time up to the deadline. One that waits for another task is
//! ready only once that task has run. If both become due at the same time, either may win. The
//! operation, or what is left of the timer, is dropped before the result is returned.
//!
//! # Priorities
//! Flow runs the most urgent task that is ready, and tasks of the same priority in the order in
//! which they became ready. Nothing ages, so urgent tasks can starve the others. Here a task of
//! [high](Priority::High) priority runs before the normal ones, and tasks of the same priority run
//! in the order in which they became ready, but no task starves: after 32 urgent ones in a row
//! a normal one has its turn. A priority belongs to a task, not to a single wait. Flow's `delay(0,
//! priority)`, which changes the priority of what follows, has no counterpart: spawn a task for it.
//! Both orders hold for each worker on its own. An executor with several workers runs tasks at the
//! same time, and a simulation runs them in any order.

use std::time::Duration;

#[doc(no_inline)]
pub use joint_executor::{
    Priority, TaskBuilder,
    time::{Elapsed, Sleep, Timeout, now, timeout, timeout_at},
    yield_now,
};

/// Waits for a duration, which starts with this call.
///
/// It is never ready at its first poll, not even if the duration is zero: the task takes at least
/// one trip through the queue, and others get their turn. A duration beyond the range of the clock
/// never ends.
///
/// This is [`joint_executor::time::sleep`] by the name that it has in Flow.
///
/// # Example
/// ```
/// use std::{future::Future, pin::pin, task::{Context, Poll, Waker}, time::Duration};
/// use joint_flow::time::delay;
///
/// joint::block_on(async {
///     delay(Duration::from_millis(1)).await;
/// });
///
/// let mut zero = pin!(delay(Duration::ZERO));
/// let mut cx = Context::from_waker(Waker::noop());
/// assert_eq!(zero.as_mut().poll(&mut cx), Poll::Pending);
/// assert_eq!(zero.poll(&mut cx), Poll::Ready(()));
/// ```
pub fn delay(duration: Duration) -> Sleep {
    joint_executor::time::sleep(duration)
}
