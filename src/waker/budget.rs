//! The budget: how many operations of `io` and `time` one poll of a task may do before it has to
//! yield.
//!
//! A task whose descriptor is always ready never has to wait. It would keep its thread from other
//! tasks, and its own timeouts from being checked. Each operation that is ready therefore takes one
//! from the budget, which is refilled at each poll of a task ([`begin`]). Once the budget is used
//! up, the next operation is *refused*: it wakes the task, and is pending without having done
//! anything ([`poll_turn`]).
//!
//! After each refused operation, one more is allowed. It is for a future that is polled in the same
//! task after the one that has used up the budget, such as its sibling in a join, so that both make
//! progress. It is also for an executor that runs inside a task and polls again at once, instead of
//! returning to us: it makes progress at every second try.
//!
//! Each thread has its own budget, which never runs out unless a task of ours is polled. A future
//! that is polled by hand, or by another crate's executor, is never refused.

use core::{
    cell::Cell,
    task::{Context, Poll},
};

use crate::sync::thread_local;

/// How many operations one poll of a task may do.
const OPERATIONS: u64 = 128;
/// More operations than any poll does.
const UNLIMITED: u64 = u64::MAX;

thread_local! {
    /// How many operations this poll may still do.
    static LEFT: Cell<u64> = const { Cell::new(UNLIMITED) };
}

thread_local! {
    /// The function that is called when an operation is refused.
    static ON_REFUSED: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Begins a poll of a task. Call this on threads that poll only tasks, or under an [`Outer`].
#[inline]
pub(crate) fn begin() {
    LEFT.with(|left| left.set(OPERATIONS));
}

/// The budget of the current poll, kept while another future is polled inside it. It is restored
/// when this is dropped.
pub(crate) struct Outer(u64);

impl Outer {
    #[inline]
    pub(crate) fn keep() -> Self {
        Self(LEFT.with(Cell::get))
    }
}

impl Drop for Outer {
    #[inline]
    fn drop(&mut self) {
        LEFT.with(|left| left.set(self.0));
    }
}

/// Sets the function that this thread calls when an operation is refused, which means that another
/// task should run next.
pub(crate) fn set_on_refused(f: Option<fn()>) {
    ON_REFUSED.with(|cell| cell.set(f));
}

/// Returns whether an operation may be done.
#[inline]
pub(crate) fn has_left() -> bool {
    LEFT.with(Cell::get) > 0
}

/// Returns whether the budget is used up, or was before the last operation was allowed. For code
/// that relies on other tasks running meanwhile.
#[inline]
pub(crate) fn is_used_up() -> bool {
    LEFT.with(Cell::get) <= 1
}

/// Returns `Ready` if an operation may be tried, and [`spend`] must be called if that operation is
/// ready. Returns `Pending` if the operation is refused, after waking the waker.
#[inline]
pub(crate) fn poll_turn(cx: &mut Context<'_>) -> Poll<()> {
    if has_left() {
        Poll::Ready(())
    } else {
        refuse(cx);
        Poll::Pending
    }
}

/// Records that an operation was ready.
#[inline]
pub(crate) fn spend() {
    LEFT.with(|left| left.set(left.get().saturating_sub(1)));
}

#[cold]
fn refuse(cx: &mut Context<'_>) {
    LEFT.with(|left| left.set(1));
    if let Some(f) = ON_REFUSED.with(Cell::get) {
        f();
    }
    cx.waker().wake_by_ref();
}
