//! The lock-free join between a task and whoever waits for it, the task that carries it, and a work-stealing executor built on
//! both.
//!
//! A task finishes on one thread while another starts to wait for it. [`Completion`] settles that race with one atomic word
//! that each side exchanges once: there is no lock, and no state in which one side waits for the other. Everything else stands
//! on it:
//!
//! | module | what it is for |
//! |---|---|
//! | [`completion`] | the word itself: two sides that borrow it, or raw operations for those who embed it |
//! | [`waker`] | [`ThinWaker`](waker::ThinWaker), a waker in one word |
//! | [`oneshot`] | one value from one thread to another, awaited, or waited for with or without a deadline |
//! | [`shared`] | one value for many waiters, which come and go at any time |
//! | [`task`] | [`Runnable`](task::Runnable) and [`JoinHandle`], for authors of executors |
//! | [`executor`] | [`Executor`], [`spawn`], [`TaskBuilder`], [`yield_now`]; [`JoinSet`], [`scope`], [`join()`]; [`LocalExecutor`]; [`TaskLocal`] (feature `std`) |
//! | [`time`] | [`sleep`](time::sleep()), [`Timer`](time::Timer), [`interval`](time::interval()), [`timeout`](time::timeout()) (feature `io`) |
//! | [`io`] | [`AsyncFd`](io::AsyncFd); TCP, UDP, Unix sockets and pipes (feature `io`) |
//!
//! [`block_on`] lets a thread wait for any future (feature `std`).
//!
//! # Example
//! ```
//! # #[cfg(feature = "std")] {
//! let (sender, receiver) = joint::oneshot::channel();
//! let doubled = joint::spawn(async move { receiver.await.map(|n: u32| 2 * n) });
//! sender.send(21).unwrap();
//! assert_eq!(joint::block_on(doubled), Ok(42));
//! # }
//! ```
//!
//! # Waiting
//! For the three types that one side waits on, a call that blocks the thread says so in its name,
//! and needs the feature `std`. All others are awaited, or return at once.
//!
//! | | [`Waiter`] | [`oneshot::Receiver`] | [`shared::Shared`] |
//! |---|---|---|---|
//! | await | `waiter.await` | `receiver.await` | `shared.await` gives a clone, `wait().await` a reference |
//! | look | `is_finished` | `is_finished`, `try_recv` | `is_finished`, `get`, `try_get` |
//! | block | `blocking_wait` | `blocking_recv` | `blocking_wait` |
//! | block for a time | `blocking_wait_timeout` | `blocking_recv_timeout` | `blocking_wait_timeout` |
//! | block until a time | `blocking_wait_deadline` | `blocking_recv_deadline` | `blocking_wait_deadline` |
//!
//! # In your own models
//! Built with `RUSTFLAGS="--cfg joint_loom"`, the crate runs on [loom](https://docs.rs/loom): its atomics, cells, memory and parked
//! threads take part in `loom::model`, so that an executor of your own on [`task`], or a structure on [`Completion`], can be
//! model-checked as it is. Use them inside a model only, and loom's threads and locks beside them. A [`LocalExecutor`]
//! runs on a thread of the model; [`Executor`] has threads of the system, and is not for models.
//!
//! # Features
//! `std`, on by default: the executor, `block_on`, every blocking wait, and panics of tasks caught. Without it the crate needs
//! `alloc` alone. [`task`] and [`executor`] need atomics of 64 bits.
//!
//! `blocking`, on by default: `spawn_blocking`, on threads of its own.
//!
//! `io`, on by default: [`time`] and [`io`], on a driver of each executor's own.
//!
//! `tracing`: each of the executor's tasks has a span of the crate [tracing](https://docs.rs/tracing), of level debug and target
//! `joint::task`, with the fields `task.name`, `task.kind` (`normal`, `high`, `pinned` or `local`) and `task.spawned`. It is entered
//! whenever the future is polled or dropped, has no parent, and follows from the span that the task was spawned in.
//!
//! `trace`: `Builder::trace` makes an executor keep what its workers do; `Executor::trace` gives it back, to be looked at as it is
//! or in <https://ui.perfetto.dev>.
//!
//! # Systems
//! What a worker with nothing to do waits in, when there is a timer or a descriptor (feature `io`). As long as there are timers alone,
//! that is its own parked thread, with the earliest deadline as its limit; from the first descriptor on, the system's queue of events:
//!
//! | system | source of events | source of time | state |
//! |---|---|---|---|
//! | Linux | `epoll`, edge-triggered; an `eventfd` interrupts it | one `timerfd`, to the nanosecond | tested |
//! | Android | `epoll`, by polling | one `timerfd`, to the nanosecond, by polling | type-checked, where its target is installed |
//! | macOS | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | FreeBSD | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | Windows | I/O completion port, for sockets alone, by polling | the limit of the wait, up to the next millisecond | type-checked |
//!
//! Type-checked, by `cargo xtask portable`, means that nobody has run it there; what goes through the crate
//! [polling](https://docs.rs/polling) is tested on Linux too. Packet pipes, and timers that are descriptors (the example
//! `fizz_buzz`), are Linux's own.
//!
//! On Windows no thread starts or ends while the destructor of a thread-local runs ([why]). Such a
//! destructor hangs there if it drops an `Executor`, which waits for the end of its threads. It
//! also hangs if it waits for a thread that has not started yet: one of `spawn_blocking`, or a
//! worker of the global executor before that was first used.
//!
//! [why]: https://doc.rust-lang.org/std/thread/struct.LocalKey.html#platform-specific-behavior
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(
    not(target_has_atomic = "64"),
    allow(dead_code, reason = "what only `task` uses")
)]

extern crate alloc;

mod sync;

pub mod completion;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub mod executor;
#[cfg(all(feature = "io", target_has_atomic = "64"))]
pub mod io;
pub mod oneshot;
pub mod shared;
#[cfg(target_has_atomic = "64")]
pub mod task;
#[cfg(all(feature = "io", target_has_atomic = "64"))]
pub mod time;
pub mod waker;

#[doc(inline)]
pub use crate::completion::{Abandoned, Completer, Completion, Waiter};
#[cfg(all(feature = "blocking", target_has_atomic = "64"))]
#[doc(inline)]
pub use crate::executor::spawn_blocking;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
#[doc(inline)]
pub use crate::executor::{
    Executor, JoinSet, LocalExecutor, Priority, TaskBuilder, TaskLocal, async_scope, join,
    join_async, scope, spawn, spawn_detached, spawn_local, yield_now,
};
#[cfg(target_has_atomic = "64")]
#[doc(inline)]
pub use crate::task::{JoinError, JoinHandle};
#[cfg(feature = "std")]
#[doc(inline)]
pub use crate::waker::park::block_on;

/// What models of the crate need of it. It exists under the model-checking cfg alone, and promises nothing.
#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model;

/// The examples of the README and of the lessons.
#[cfg(all(doctest, feature = "std"))]
mod pages;
