//! A lock-free join between a task and its waiter, and the task that carries it.
//!
//! A task finishes on one thread while another thread starts to wait for it. [`Completion`] settles
//! that race with one atomic word, which each side exchanges once. There is no lock, and no state
//! in which one side waits for the other. Everything else builds on it:
//!
//! | module | purpose |
//! |---|---|
//! | [`completion`] | the word itself: two sides that borrow it, or raw operations for types that embed it |
//! | [`waker`] | [`ThinWaker`](waker::ThinWaker), a waker in one word; how a thread [waits] |
//! | [`oneshot`] | one value from one thread to another; the receiver awaits it or blocks, with or without a deadline |
//! | [`shared`] | one value for many waiters, which may start and stop waiting at any time |
//! | [`task`] | [`Runnable`](task::Runnable) and [`JoinHandle`], for authors of executors |
//!
//! [`block_on`] lets a thread wait for any future (feature `std`).
//!
//! This package is for authors of executors and of synchronization. Applications use the package
//! `joint-executor`, a work-stealing executor that is built on this one and re-exports what its
//! users need of it.
//!
//! # Example
//! A task finishes on one thread while another waits for it. The schedule function decides where
//! the task runs: here, on a new thread.
//! ```
//! # #[cfg(feature = "std")] {
//! use joint::task::{self, Runnable};
//! use std::thread;
//!
//! let schedule = |runnable: Runnable| drop(thread::spawn(move || runnable.run()));
//! let (runnable, handle) = task::spawn(async { 6 * 7 }, schedule);
//! runnable.schedule();
//! assert_eq!(joint::block_on(handle), 42);
//! # }
//! ```
//! The documentation of [`task`] has an executor in thirty lines, and one that can be shut down.
//!
//! # Waiting
//! Three types can be waited on. A call that blocks the thread says so in its name, and needs the
//! feature `std`. Every other call is either awaited or returns at once.
//!
//! | | [`Waiter`] | [`oneshot::Receiver`] | [`shared::Shared`] |
//! |---|---|---|---|
//! | await | `waiter.await` | `receiver.await` | `shared.await` gives a clone, `wait().await` a reference |
//! | check | `is_finished` | `is_finished`, `try_recv` | `is_finished`, `get`, `try_get` |
//! | block | `blocking_wait` | `blocking_recv` | `blocking_wait` |
//! | block for a time | `blocking_wait_timeout` | `blocking_recv_timeout` | `blocking_wait_timeout` |
//! | block until a time | `blocking_wait_deadline` | `blocking_recv_deadline` | `blocking_wait_deadline` |
//!
//! A [`JoinHandle`] is awaited, or passed to [`block_on`]. Dropping it **cancels** its task, unlike
//! in std and tokio: to let the task run on, [`detach`](JoinHandle::detach) it.
//!
//! # In your own models
//! Built with `RUSTFLAGS="--cfg joint_loom"`, the crate runs on [loom](https://docs.rs/loom): its
//! atomics, cells, memory and parked threads take part in `loom::model`. An executor of your own on
//! [`task`], or a structure on [`Completion`], can therefore be model-checked as it is. Use the
//! crate's types only inside a model then, together with loom's threads and locks.
//!
//! # Features
//! `std`, on by default: `block_on` and every blocking wait, the modules `waker::park`,
//! `waker::budget` and `waker::clock`, tasks that stay on their thread, and panics of tasks as
//! results. Without it the crate needs only `alloc`, and a panic in a task ends the program.
//!
//! [`task`] needs 64-bit atomics, with or without `std`.
//!
#![cfg_attr(feature = "std", doc = "[waits]: waker::park")]
#![cfg_attr(not(feature = "std"), doc = "[waits]: #features")]
#![cfg_attr(not(feature = "std"), doc = "[`block_on`]: #features")]
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(target_has_atomic = "64"),
    allow(dead_code, reason = "used only by `task`")
)]

extern crate alloc;

pub mod completion;
pub mod oneshot;
pub mod shared;
#[cfg(target_has_atomic = "64")]
pub mod task;
pub mod waker;

#[doc(inline)]
pub use crate::completion::{Abandoned, Completer, Completion, Waiter};
#[cfg(target_has_atomic = "64")]
#[doc(inline)]
pub use crate::task::{JoinError, JoinHandle};
#[cfg(feature = "std")]
#[doc(inline)]
pub use crate::waker::park::block_on;

/// The examples of the README and of the lessons.
#[cfg(all(doctest, feature = "std"))]
mod pages;
