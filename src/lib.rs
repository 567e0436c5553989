//! A lock-free join between a task and its waiter, the task that carries it, and a work-stealing
//! executor built on both.
//!
//! A task finishes on one thread while another thread starts to wait for it. [`Completion`] settles
//! that race with one atomic word, which each side exchanges once. There is no lock, and no state
//! in which one side waits for the other. Everything else builds on it:
//!
//! | module | purpose |
//! |---|---|
//! | [`completion`] | the word itself: two sides that borrow it, or raw operations for types that embed it |
//! | [`waker`] | [`ThinWaker`](waker::ThinWaker), a waker in one word; how a thread [waits](waker::park) |
//! | [`oneshot`] | one value from one thread to another; the receiver awaits it or blocks, with or without a deadline |
//! | [`shared`] | one value for many waiters, which may start and stop waiting at any time |
//! | [`task`] | [`Runnable`](task::Runnable) and [`JoinHandle`], for authors of executors |
//! | [`executor`] | [`Executor`], [`spawn`], [`TaskBuilder`], [`yield_now`]; [`JoinSet`], [`scope`], [`join()`]; [`LocalExecutor`]; [`TaskLocal`] (feature `std`) |
//! | [`time`] | [`sleep`](time::sleep()), [`Timer`](time::Timer), [`interval`](time::interval()), [`timeout`](time::timeout()) (feature `io`) |
//! | [`io`] | [`AsyncFd`](io::AsyncFd); TCP, UDP, Unix sockets and pipes (feature `io`) |
//! | [`sim`] | tests that run a program by a seed, with virtual time, faults and a network (feature `sim`) |
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
//! # Memory
//! The blocks of tasks, channels and boxed wakers are kept for others when they are freed (feature
//! `std`). A thread keeps up to 1 MiB of each size, and frees it when it ends. Blocks that it has
//! no room for are kept for all threads, up to another 1 MiB of each size, until the program ends.
//! The sizes are the 32 multiples of 8 up to 256 bytes. A program in which many tasks of one size
//! have existed at a time therefore retains up to 1 MiB for each thread that has freed some of
//! them, and 1 MiB for all threads. Larger blocks, and those whose content has an alignment of more
//! than 8 bytes, go back to the allocator at once.
//!
//! # In your own models
//! Built with `RUSTFLAGS="--cfg joint_loom"`, the crate runs on [loom](https://docs.rs/loom): its
//! atomics, cells, memory and parked threads take part in `loom::model`. An executor of your own on
//! [`task`], or a structure on [`Completion`], can therefore be model-checked as it is. Use the
//! crate's types only inside a model then, together with loom's threads and locks. A
//! [`LocalExecutor`] runs on a thread of the model. An [`Executor`] starts threads of the operating
//! system, so it cannot be used in a model.
//!
//! # Features
//! `std`, on by default: the executor, `block_on`, every blocking wait, and catching the panics of
//! tasks. Without it the crate needs only `alloc`. [`task`] and [`executor`] need 64-bit atomics.
//!
//! `blocking`, on by default: `spawn_blocking`, which runs closures on a separate pool of threads.
//!
//! `io`, on by default: [`time`] and [`io`]. Each executor has its own driver for them.
//!
//! `sim`: [`sim`], for tests. Outside of a simulation, a program does the same as without it.
//!
//! `tracing`: each task of the executor has a span of the crate [tracing](https://docs.rs/tracing),
//! with level debug, target `joint::task`, and the fields `task.name`, `task.kind` (`normal`,
//! `high`, `pinned` or `local`) and `task.spawned`. The span is entered whenever the future is
//! polled or dropped. It has no parent, and follows from the span in which the task was spawned.
//!
//! `trace`: `Builder::trace` turns on a record of what the workers of an executor do.
//! `Executor::trace` returns the record, for your own analysis or for <https://ui.perfetto.dev>.
//!
//! # Systems
//! This section says how an idle worker waits when there is a timer or a descriptor (feature `io`).
//! While there are only timers, the worker parks its thread until the earliest deadline. From the
//! first descriptor on, it waits in the system's event queue:
//!
//! | system | source of events | source of time | state |
//! |---|---|---|---|
//! | Linux | `epoll`, edge-triggered; an `eventfd` interrupts it | one `timerfd`, to the nanosecond | tested |
//! | Android | `epoll`, by polling | one `timerfd`, to the nanosecond, by polling | type-checked, if its target is installed |
//! | macOS | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | FreeBSD | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | Windows | I/O completion port, for sockets only, by polling | the limit of the wait, rounded up to the next millisecond | type-checked |
//!
//! "Type-checked" means that `cargo xtask portable` type-checks the code for that system, but it
//! has not been run there. "By polling" means through the crate [polling](https://docs.rs/polling),
//! and that code is also tested on Linux. Packet pipes, and timers that are descriptors (the
//! example `fizz_buzz`), exist only on Linux.
//!
//! On Windows no thread starts or ends while the destructor of a thread-local runs ([why]). A
//! destructor of a thread-local hangs there if it drops an `Executor`, because that waits for the
//! executor's threads to end. It also hangs if it waits for a thread that has not started yet: a
//! thread of `spawn_blocking`, or a worker of the global executor before its first use.
//!
//! [why]: https://doc.rust-lang.org/std/thread/struct.LocalKey.html#platform-specific-behavior
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(
    not(target_has_atomic = "64"),
    allow(dead_code, reason = "used only by `task`")
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
#[cfg(all(feature = "sim", target_has_atomic = "64"))]
pub mod sim;
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

/// The parts of the crate that its models need. It exists only under the model-checking cfg, and
/// promises nothing.
#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model;

/// The examples of the README and of the lessons.
#[cfg(all(doctest, feature = "std"))]
mod pages;
