//! Sockets and pipes: thin types over [`AsyncFd`](super::AsyncFd) of what the standard library has for each.
//!
//! `wrap.rs` has what the types have in common, once: a conversion, a stream's reads and writes, a listener's accepts, a
//! datagram socket's messages. The files of the types have only what tells them apart.

#[macro_use]
mod wrap;

mod address;
mod connect;
mod counted;
#[cfg(unix)]
mod pipe;
mod tcp;
mod udp;
#[cfg(unix)]
mod unix;

pub use address::ToSocketAddrs;
#[cfg(unix)]
pub use pipe::{PipeReader, PipeWriter, pipe};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{UnixDatagram, UnixListener, UnixStream};
