//! The budget: how many operations of `io` and `time` one poll of a task does before it has to give
//! way.
//!
//! A task whose descriptor is always ready never has to wait, so it would keep its thread from
//! everybody else, and its own timeouts from being looked at. Therefore each operation that is
//! ready takes one from the budget, which is full again at each poll of a task ([`begin`]). Where
//! the budget is used up, an operation is *refused*: it wakes the task, and is pending without
//! having done anything ([`poll_turn`]).
//!
//! One operation may follow each that was refused. This is for what is polled in the same task
//! after the one that has used the budget up: its sibling in a join gets on, too. And an executor
//! that a task runs inside itself and that polls again at once, instead of returning to us, gets on
//! at every second try.
//!
//! The budget is its thread's. Where no task of ours is polled it never runs out: a future that is
//! polled by hand, or by another crate's executor, is not refused anything.

use core::{
    cell::Cell,
    task::{Context, Poll},
};

use crate::sync::thread_local;

/// How many operations one poll of a task does.
const OPERATIONS: u64 = 128;
/// Nobody does so many.
const UNLIMITED: u64 = u64::MAX;

thread_local! {
    /// How many operations may still be done in this poll.
    static LEFT: Cell<u64> = const { Cell::new(UNLIMITED) };
}

thread_local! {
    /// What is called when an operation is refused.
    static ON_REFUSED: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// A poll of a task begins. To be called on threads that poll only tasks, or under an [`Outer`].
#[inline]
pub(crate) fn begin() {
    LEFT.with(|left| left.set(OPERATIONS));
}

/// The budget of what is being polled already, while something else is polled inside of it. It is
/// put back when this is dropped.
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

/// Has this thread call a function when an operation is refused: another task should run next.
pub(crate) fn set_on_refused(f: Option<fn()>) {
    ON_REFUSED.with(|cell| cell.set(f));
}

/// Whether an operation may be done.
#[inline]
pub(crate) fn has_left() -> bool {
    LEFT.with(Cell::get) > 0
}

/// Whether the budget is used up, or was at the last operation: for those who would rely on others
/// to run meanwhile.
#[inline]
pub(crate) fn is_used_up() -> bool {
    LEFT.with(Cell::get) <= 1
}

/// Ready: an operation may be tried, and if it is ready, [`spend`] is to be called. Pending: it is
/// refused, and the waker has been woken.
#[inline]
pub(crate) fn poll_turn(cx: &mut Context<'_>) -> Poll<()> {
    if has_left() {
        Poll::Ready(())
    } else {
        refuse(cx);
        Poll::Pending
    }
}

/// An operation was ready.
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
