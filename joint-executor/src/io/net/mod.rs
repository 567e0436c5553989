//! Sockets and pipes: thin types over an [`AsyncFd`](super::AsyncFd) of the standard library's
//! types. Those of the network may be a host's instead (`socket.rs`).
//!
//! `wrap.rs` has the code that the types share: conversions, a stream's reads and writes, a
//! listener's `accept`, and a datagram socket's messages. The file of each type has only the code
//! that is specific to it.

mod address;
mod connect;
mod halves;
mod inner;
#[cfg(unix)]
mod pipe;
mod socket;
mod tcp;
mod udp;
#[cfg(unix)]
mod unix;
mod wrap;

pub use address::{ToSocketAddrs, lookup_host};
pub use halves::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
#[cfg(unix)]
pub use pipe::{PipeReader, PipeWriter, pipe};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{UnixDatagram, UnixListener, UnixStream};
