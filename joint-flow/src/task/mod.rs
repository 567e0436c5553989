//! [`spawn`]: a task with many handles, which is cancelled when the last one is dropped.
//!
//! This is Flow's `Future` of an actor. It differs from [`joint_executor::spawn`], whose one handle
//! cannot be cloned, and from [`shared::from_future`](crate::shared::from_future), whose future
//! runs on although nobody waits.
//!
//! | Flow | here |
//! |---|---|
//! | call an actor | [`spawn`]. It runs at once, on the caller's stack, up to its first wait |
//! | copy the `Future` | clone the [`Task`] |
//! | drop the last `Future` | drop the last [`Task`] |
//! | `future.cancel()` | [`Task::cancel`] |
//! | take the value out of the only `Future` | [`Task::into_output`] |
//! | `Uncancellable` | [`uncancellable`] |
//! | an actor that keeps to its thread | [`spawn_local`] |
//! | `NoThrowOnCancel` | always: there is nothing to catch |
//! | `actor_cancelled` | destructors for the task itself, [`TaskError::Cancelled`] for its waiters |
//!
//! # Start
//! A task runs on its caller's stack up to its first wait, as [`joint_executor::spawn_now`] says,
//! also if it is [`uncancellable`] or [local](spawn_local). A task that never waits has ended when
//! the call returns, and was in no queue. If 16 tasks are being started so, one inside the other,
//! the next one is queued, so tasks that start tasks may recurse to any depth. A simulation queues
//! some, so that a program that relies on the order is found. What is
//! [added](crate::Collection::add) to a collection is queued, because a child that ended in the
//! call would leave the collection empty before the next one is added.
//!
//! # Cancellation
//! Cancelling a task drops its future:
//!
//! * **At once**, on the stack of the thread that cancels, if the future is idle: not polled yet,
//!   or suspended. When the call returns, all its destructors have run.
//! * **At its next suspension** if it is being polled, by the thread that polls it. The caller does
//!   not wait for that. If that poll is ready, the task has ended with its output instead.
//! * **Not at all** if the task has ended. Cancelling is a no-op then.
//!
//! A future of [`spawn_local`] is dropped by its own thread, which the caller does not wait for.
//!
//! The future is dropped exactly once, also if one of its destructors cancels the task again, if it
//! drops its own last handle while it is polled, or if a waiter's waker does.
//!
//! Everything that the canceller did before happens before the destructors run.
//!
//! # The order of destructors
//! It is Rust's. What a future awaits is dropped before the locals around it, and locals are
//! dropped from the last to the first. Fields, elements of a tuple or an array, and so the branches
//! of a combinator, are dropped from the first to the last. If a task owns the last handle of a
//! second task, and that one of a third, then dropping the first cancels them from the outside in,
//! all before the call returns. The destructors of the third task have then run before the
//! remaining ones of the second, and those before the remaining ones of the first.
//!
//! That takes some stack for each task, so it ends at the 64th task of such a chain. The tasks
//! below it are dropped after it and before the call returns, each one after the remaining
//! destructors of the one that owned its last handle. A chain may therefore have any length. Where
//! a destructor calls [`Task::cancel`], all that it cancels is gone when that returns, at any
//! depth.
//!
//! # Cost
//! The future of [`spawn`] and its result are in the block of the [`joint`] task, as a value of
//! [`spawn_now_with`](joint_executor::spawn_now_with). A future of more than 16 KiB or of a large
//! alignment, and one that is [`uncancellable`], [local](spawn_local) or a [`from_future`], has one
//! block of its own, and keeps a clone of the waker of its first poll that is pending.
//!
//! In addition to those of the [`joint`] task: two atomic read-modify-writes for each poll that is
//! pending; two for the poll that is ready, and one for the result. To cancel is one, or none if
//! the task has ended, and if the future was idle also one for the waiters and the end of the task.
//! That is at once on a worker of its executor, and takes a wake-up elsewhere. A clone of a handle
//! is one. The drop of the last handle cancels, and if the task has not ended, it takes one more.
//! No operation waits for another thread.
//!
//! # Example
//! ```
//! use joint_flow::spawn;
//!
//! let (sender, receiver) = joint::oneshot::channel::<u32>();
//! let task = spawn(async move { receiver.await });
//! let other = task.clone();
//! drop(task);
//! assert!(!sender.is_closed(), "there is another handle");
//! drop(other);
//! // Nobody waits any more, so the receiver is dropped, or will be at the end of a running poll.
//! while !sender.is_closed() {
//!     std::thread::yield_now();
//! }
//! ```

mod canceller;
mod cell;
mod error;
mod handle;
mod nesting;
mod output;
mod state;

pub(crate) use canceller::Canceller;
pub(crate) use cell::{Abandon, Driver, Sink};
pub use error::TaskError;
pub use handle::{Task, Wait, from_future, spawn, spawn_local, uncancellable};
