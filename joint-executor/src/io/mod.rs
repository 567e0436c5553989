//! Descriptors and sockets that tasks can wait for. The executor's workers drive them, without an
//! extra thread.
//!
//! [`AsyncFd`] makes any descriptor awaitable that the system can wait for. It is served by the
//! [executor](crate#timers-and-descriptors) whose worker makes it, or that the thread is in. It can
//! be used and awaited anywhere, as long as its executor lives.
//!
//! Sockets and pipes have types of their own, as in the standard library: [`TcpListener`],
//! [`TcpStream`], [`UdpSocket`], and on Unix `UnixListener`, `UnixStream`, `UnixDatagram` and
//! `pipe`. They are read and written by `read`, `read_exact`, `read_to_end`, `write` and
//! `write_all`. For more, such as lines or copying, they implement the traits
//! [`AsyncRead`](futures_io::AsyncRead) and [`AsyncWrite`](futures_io::AsyncWrite), which the
//! crates `futures-lite` (`AsyncReadExt`, `AsyncWriteExt`) and `futures-util` extend.
//!
//! # How it works
//! An operation is tried at once, unless it is known that it would block. If it would block, its
//! task waits until the system reports that the descriptor is ready in that direction, and then
//! tries again. Idle workers wait for these events, and busy workers poll for them at intervals. A
//! descriptor is registered with the system once, for both directions or for the
//! [interest](AsyncFd::with_interest) of its owner (on Windows, once for each wait), so a wait
//! costs no system call of its own.
//!
//! The [source of events](crate#systems) depends on the system.
//!
//! # Waiting for the same descriptor
//! Any number of futures, such as those of [`AsyncFd::readable`] and [`AsyncFd::read_with`], may
//! wait for the same direction. An event wakes all of them, and those whose operation would still
//! block wait again. Functions named `poll_…`, and therefore the traits `AsyncRead` and
//! `AsyncWrite`, remember only one task for each direction, which is the last caller. Different
//! tasks can wait for the two directions at the same time, because `&AsyncFd<T>` implements the
//! traits too.
//!
//! # Without waiting
//! `try_read`, `try_write`, `try_recv` and so on call the system once, and return
//! [`WouldBlock`](std::io::ErrorKind::WouldBlock) instead of waiting. `readable` and `writable`
//! wait until that is worth it. For sockets and pipes they return what is known from events and
//! from the operations of these types, without a system call; a new socket is assumed to be ready.
//! For an [`AsyncFd`], whose user calls the system, and in [`ready`](TcpStream::ready), the system
//! is asked each time.
//!
//! # Fairness
//! Each poll of a task has a [budget](joint::budget) of 128 ready operations of this module and of
//! [`time`](crate::time) together, so that other tasks get their turn although a descriptor is
//! always ready. The next operation is refused: it wakes its task, and is pending without having
//! done anything, so nothing is lost if it is dropped then. An operation that has to wait takes
//! nothing from the budget, and a [`timeout`](crate::time::timeout()) also ends one that has used
//! it up. The budget costs each operation a thread-local load, and a store if it is ready. There is
//! none on the threads of another crate's executor.
//!
//! `readable`, `writable` and `ready` take nothing from the budget, but are refused once it is used
//! up. The operations that follow them are counted: each `try_…` that does not return `WouldBlock`,
//! and each call of a guard's [`retain_ready`](AsyncFdReadyGuard::retain_ready). A loop that waits
//! and tries therefore lets other tasks run after 128 operations. A `try_…` itself is never
//! refused: it returns `WouldBlock` only if the system does.
//!
//! # The network of a host
//! On a thread whose [`Host`](crate::hosted::Host) has a network of its own, as in `joint-sim`,
//! [`TcpListener`], [`TcpStream`] and [`UdpSocket`] are sockets of that network, and names are
//! those of its hosts. They behave as on a real network, but have no descriptor: `get_ref` and the
//! traits for descriptors panic, `into_std` is an error, and so is every `AsyncFd`, Unix socket and
//! pipe, and every conversion from the standard library's types.
//!
//! # Errors
//! A hang-up or an error of the descriptor wakes the waiters of both directions, and their
//! operations report it when they try again. When the executor is dropped, all waiters are woken,
//! and every operation that has to wait fails with an error that says so. [`AsyncFd::readable`] and
//! the other functions that only wait always fail with that error from then on.
//!
//! # Example
//! ```
//! use std::{io, time::Duration};
//!
//! use joint_executor::{io::{TcpListener, TcpStream}, time::{sleep, timeout}};
//!
//! async fn greet(listener: TcpListener) -> io::Result<()> {
//!     let (stream, _) = listener.accept().await?;
//!     sleep(Duration::from_millis(10)).await;
//!     stream.write_all(b"hello").await
//! }
//!
//! # fn main() -> io::Result<()> {
//! joint_executor::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let server = joint_executor::spawn(greet(listener));
//!     let stream = TcpStream::connect(address).await?;
//!     let mut text = [0; 5];
//!     timeout(Duration::from_secs(5), stream.read_exact(&mut text)).await??;
//!     assert_eq!(&text, b"hello");
//!     server.await
//! })
//! # }
//! ```

mod async_fd;
mod by_name;
mod net;
mod ready;
mod traits;
mod uninit;

pub use crate::driver::reactor::{Interest, Ready};
pub use async_fd::{AsyncFd, AsyncFdTryNewError};
pub use net::{
    OwnedReadHalf, OwnedWriteHalf, ReuniteError, TcpListener, TcpStream, ToSocketAddrs, UdpSocket,
    lookup_host,
};
#[cfg(unix)]
pub use net::{PipeReader, PipeWriter, UnixDatagram, UnixListener, UnixStream, pipe};
pub use ready::{AsyncFdReadyGuard, TryIoError};
