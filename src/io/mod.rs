//! Descriptors and sockets that tasks wait for, on the executor's own driver: no thread beside the workers.
//!
//! [`AsyncFd`] makes anything awaitable that the system can wait for. What is made on a worker of
//! an [`Executor`](crate::Executor) is served by that executor, anything else by the one in whose
//! [`block_on`](crate::Executor::block_on) it is made, or else by the [global
//! one](crate::Executor::global). It can be used and awaited anywhere, such as in
//! [`block_on`](crate::block_on), for as long as that executor lives.
//!
//! Sockets and pipes are types of their own, as the standard library has them: [`TcpListener`], [`TcpStream`], [`UdpSocket`]; and on Unix
#![cfg_attr(
    unix,
    doc = "[`UnixListener`], [`UnixStream`], [`UnixDatagram`], [`pipe`]."
)]
#![cfg_attr(
    not(unix),
    doc = "`UnixListener`, `UnixStream`, `UnixDatagram`, `pipe`."
)]
//!
//! # How it works
//! An operation is tried at once, unless it is known that it would block. When it would, its task waits for the system to tell of
//! the descriptor, in that direction, and then tries again. A worker with nothing else to do waits for that; a busy one looks
//! now and then. A descriptor is made known to the system once, for both directions (on Windows, once for each wait), so
//! that the wait itself costs no system call.
//!
//! [What it waits in](crate#systems) depends on the system.
//!
//! # Who waits
//! Any number of futures, such as those of [`AsyncFd::readable`] and [`AsyncFd::read_with`], may wait for the same direction; an event
//! wakes all of them, and those that come away with nothing wait again. Functions called `poll_…`, and so the traits `AsyncRead`
//! and `AsyncWrite`, remember one task for each direction: the last that called. Both directions can be awaited at the same
//! time, by different tasks: the traits are there for `&AsyncFd<T>` too.
//!
//! # Fairness
//! A descriptor that is always ready never makes its task wait. So that other tasks get their turn
//! all the same, each poll of a task has a budget of 128 operations that are ready, of this module
//! and of [`time`](crate::time) together. The next operation is refused: it wakes its task, which
//! goes to the back of the queue, and is pending without having done anything. So "pending" does
//! not say that the operation would block. Nothing is lost by it, also if the operation is given up
//! then.
//!
//! An operation that has to wait takes nothing from the budget, and what a
//! [`timeout`](crate::time::timeout()) gives up is given up though it has used up the budget. After
//! each operation that was refused one more is done in the same poll, so that neither the other
//! side of a join nor another crate's executor inside of the task is kept waiting.
//!
//! The budget is for the tasks of an [`Executor`](crate::Executor) and of a
//! [`LocalExecutor`](crate::LocalExecutor), and for the futures that [`block_on`](crate::block_on)
//! and the like drive. What another crate's executor polls has none on its own threads. It costs an
//! operation a load, and a store if it is ready, of memory of its own thread.
//!
//! # Errors
//! A hang-up or an error of the descriptor's wakes who waits, in both directions, and is what the operation says when it is tried
//! again. When the executor has gone, who waits is woken, and every operation that has to wait ends with an error that says so.
//! [`AsyncFd::readable`] and its like, which only wait, always end with that error from then on.
//!
//! # Example
//! ```
//! use std::{io, time::Duration};
//!
//! use futures_lite::{AsyncReadExt, AsyncWriteExt};
//! use joint::{
//!     io::{TcpListener, TcpStream},
//!     time::{sleep, timeout},
//! };
//!
//! async fn greet(listener: TcpListener) -> io::Result<()> {
//!     let (mut stream, _) = listener.accept().await?;
//!     sleep(Duration::from_millis(10)).await;
//!     stream.write_all(b"hello").await
//! }
//!
//! # fn main() -> io::Result<()> {
//! joint::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let server = joint::spawn(greet(listener));
//!     let mut stream = TcpStream::connect(address).await?;
//!     let mut text = String::new();
//!     timeout(Duration::from_secs(5), stream.read_to_string(&mut text)).await??;
//!     assert_eq!(text, "hello");
//!     server.await
//! })
//! # }
//! ```

mod async_fd;
mod net;
mod traits;

pub use async_fd::AsyncFd;
#[cfg(unix)]
pub use net::{PipeReader, PipeWriter, UnixDatagram, UnixListener, UnixStream, pipe};
pub use net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
