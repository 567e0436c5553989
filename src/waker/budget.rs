//! The budget: how many operations one poll of a task may do before it has to yield.
//!
//! A task whose descriptor is always ready never has to wait. It would keep its thread from other
//! tasks, and its own timeouts from being checked. Each operation of a descriptor,
//! a timer or a channel that is ready therefore takes one from the budget, which is refilled at
//! each poll of a task ([`refill`]). Once the budget is used up, the next operation is *refused*:
//! it wakes the task, and is pending without having done anything ([`poll_proceed`]). For a task of
//! this crate, that takes no atomic read-modify-write.
//!
//! After each refused operation, one more is allowed. It is for a future that is polled in the same
//! task after the one that has used up the budget, such as its sibling in a join, so that both make
//! progress. It is also for an executor that runs inside a task and polls again at once, instead of
//! returning to the outer one: it makes progress at every second try.
//!
//! Each thread has its own budget, which never runs out unless the thread's executor calls
//! [`refill`]. A future that is polled by hand, or by an executor that knows nothing of budgets, is
//! never refused.
//!
//! # Who calls what
//! An executor calls [`refill`] before each poll. If it may itself be called inside a poll, as a
//! `block_on` may, it [saves](save) the outer budget meanwhile. A future that does operations of
//! its own, such as a channel, calls [`poll_proceed`] before an operation, and [`spend`] if the
//! operation was ready.
//!
//! # Example
//! A future that counts, and is always ready to go on, lets other tasks run after every 128 steps.
//! ```
//! use joint::{task, waker::budget};
//! use std::cell::Cell;
//! use std::future::poll_fn;
//! use std::rc::Rc;
//! use std::sync::mpsc;
//! use std::task::{Poll, ready};
//!
//! async fn count(steps: Rc<Cell<u32>>) {
//!     while steps.get() < 300 {
//!         poll_fn(|cx| {
//!             ready!(budget::poll_proceed(cx));
//!             budget::spend();
//!             Poll::Ready(())
//!         })
//!         .await;
//!         steps.set(steps.get() + 1);
//!     }
//! }
//!
//! let (sender, queue) = mpsc::channel();
//! let steps = Rc::new(Cell::new(0));
//! let push = move |runnable| sender.send(runnable).unwrap();
//! let (runnable, handle) = task::spawn_local(count(steps.clone()), push);
//! runnable.schedule();
//! let mut after_each_poll = Vec::new();
//! while let Ok(runnable) = queue.try_recv() {
//!     budget::refill();
//!     runnable.run();
//!     after_each_poll.push(steps.get());
//! }
//! assert!(handle.is_finished());
//! assert_eq!(after_each_poll, [128, 256, 300]);
//! ```

use core::{
    cell::Cell,
    marker::PhantomData,
    task::{Context, Poll},
};

use joint_switch::thread_local;

/// The number of operations that one poll of a task may do.
const OPERATIONS: u64 = 128;
/// A budget that no poll uses up.
const UNLIMITED: u64 = u64::MAX;

thread_local! {
    /// The number of operations that this poll may still do.
    static LEFT: Cell<u64> = const { Cell::new(UNLIMITED) };
    /// The function that is called when an operation is refused.
    static ON_REFUSED: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Refills the budget of this thread to 128 operations. Call it before each poll of a task.
///
/// From then on, operations on this thread can be refused. Call it only on threads that poll only
/// tasks, or after a [`save`].
#[inline]
pub fn refill() {
    LEFT.with(|left| left.set(OPERATIONS));
}

/// Refills the budget of this thread as [`refill`] does, but to another number of operations.
///
/// This is for an owner of a thread that gives its tasks longer or shorter turns, for simulators,
/// and for tests of how a future bears that it is refused.
///
/// # Example
/// ```
/// use joint::waker::budget;
///
/// budget::refill_to(1);
/// assert!(budget::has_left());
/// budget::spend();
/// assert!(!budget::has_left());
/// ```
#[inline]
pub fn refill_to(operations: u64) {
    LEFT.with(|left| left.set(operations));
}

/// The budget of the current poll, kept while other futures are polled inside it. It is restored
/// when this is dropped, which must be on the same thread, so it cannot be sent to another.
#[derive(Debug)]
#[must_use = "dropping it restores the budget"]
pub struct Saved {
    left: u64,
    /// It stays on its thread.
    thread: PhantomData<*mut ()>,
}

/// Keeps the budget of the current poll until the returned value is dropped.
#[inline]
pub fn save() -> Saved {
    Saved {
        left: LEFT.with(Cell::get),
        thread: PhantomData,
    }
}

impl Drop for Saved {
    #[inline]
    fn drop(&mut self) {
        LEFT.with(|left| left.set(self.left));
    }
}

/// Sets the function that this thread calls when an operation is refused, or `None` for nothing,
/// which is the default. A refusal means that another task should run next. Returns what was set
/// before.
///
/// The function is called before the refused task is woken. If it panics, the panic passes through
/// [`poll_proceed`], and the task is not woken.
pub fn set_on_refused(f: Option<fn()>) -> Option<fn()> {
    ON_REFUSED.with(|cell| cell.replace(f))
}

/// Returns whether an operation may be done.
#[inline]
pub fn has_left() -> bool {
    LEFT.with(Cell::get) > 0
}

/// Returns whether at most one operation is left. That includes every poll in which an operation
/// has been refused, because a refusal allows one more. For code that relies on other tasks running
/// meanwhile.
#[inline]
pub fn is_used_up() -> bool {
    LEFT.with(Cell::get) <= 1
}

/// Returns `Ready` if an operation may be tried, and [`spend`] must be called if that operation is
/// ready. Returns `Pending` if the operation is refused, after waking the waker.
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    if has_left() {
        Poll::Ready(())
    } else {
        refuse(cx);
        Poll::Pending
    }
}

/// Records that an operation was ready.
#[inline]
pub fn spend() {
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
