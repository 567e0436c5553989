//! A value that is set once, for many waiters: [`shared`](crate::shared), and [`never()`].
//!
//! Flow's promise and future are a channel for one value, so this module has the types of
//! [`shared`](crate::shared) under their names:
//!
//! | Flow | here |
//! |---|---|
//! | `Promise<T> p; p.getFuture()` | `let (sender, shared) = channel()` |
//! | `Promise<T>` | [`Sender`], of which there is one; share it by reference or in an `Arc` |
//! | `Future<T>`, and copies of it | [`Shared`], and clones of it |
//! | `p.send(value)` | [`Sender::send`], which consumes the sender: a second one does not compile |
//! | `p.sendError(e)` | a channel of `Result<T, E>` |
//! | `broken_promise` | [`Closed`], which every waiter gets when the sender is dropped |
//! | `f.isReady()`, `f.get()` | [`Shared::is_finished`], [`Shared::get`] |
//! | `co_await f` | `f.await` for a clone, [`Shared::wait`] for a reference |
//! | `Never()` | [`never()`] |
//! | the `Future` of an actor | [`Task`](crate::Task): dropping the last one cancels the producer |
//! | the same, but it runs on | [`from_future`], or [`uncancellable`](crate::uncancellable) |
//!
//! There are two differences. Waiters are woken, and run when the executor gives them their turn.
//! In Flow they run on the sender's stack, the latest first. And the value is known to be there by
//! every waiter once the sender has sent it, from any thread.
//!
//! # Example
//! It is set once:
//! ```compile_fail,E0382
//! let (sender, shared) = joint_flow::promise::channel();
//! sender.send(1);
//! sender.send(2);
//! ```

pub use std::future::pending as never;

pub use crate::shared::{Closed, Driver, Sender, Shared, Wait, channel, from_future};
