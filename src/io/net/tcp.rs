//! [`TcpListener`] and [`TcpStream`].

use core::future::ready;
use std::{
    io,
    net::{self, Shutdown, SocketAddr},
};

use socket2::{Domain, SockAddr};

use super::{
    address::{ToSocketAddrs, first},
    connect::{self, connect},
    counted::{Counted, closed},
};
use crate::io::AsyncFd;

/// How many connections wait to be accepted at most; the system may hold fewer.
const BACKLOG: i32 = 1024;

/// Waits for TCP connections.
///
/// # Example
/// ```
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// use joint::io::{TcpListener, TcpStream};
///
/// # joint::block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let address = listener.local_addr()?;
/// let server = joint::spawn(async move {
///     let (mut stream, _peer) = listener.accept().await?;
///     stream.write_all(b"hello").await
/// });
/// let mut stream = TcpStream::connect(address).await?;
/// let mut text = String::new();
/// stream.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// server.await
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpListener(AsyncFd<net::TcpListener>);

wraps!(TcpListener of net::TcpListener, at SocketAddr);
accepts!(TcpListener gives TcpStream of net::TcpStream, from SocketAddr);

impl TcpListener {
    /// Binds a listener: to the first address for which that succeeds. Port 0 is one that the system chooses.
    ///
    /// On Unix the address can be bound anew as soon as the listener has gone (`SO_REUSEADDR`). Up to 1024 connections wait to be
    /// accepted, if the system lets them.
    ///
    /// # Errors
    /// That of the last address; of the look-up, if a name is given.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, |address| ready(bind(address))).await
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = connect::new(Domain::for_address(address))?;
    // On Windows the option would let others take the address away.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    AsyncFd::new_nonblocking(socket.into()).map(TcpListener)
}

/// A TCP connection.
///
/// It is read and written by [`AsyncRead`](futures_io::AsyncRead) and [`AsyncWrite`](futures_io::AsyncWrite), with the extensions of
/// `futures-lite` or `futures-util`. So are references to it: one task reads `&stream` while another writes `&stream`; behind an
/// [`Arc`](alloc::sync::Arc) if they are spawned. Closing it, by `poll_close`, ends the direction that is written, and the peer reads
/// to the end. Dropping it ends both.
///
/// A write after closing fails, with [`BrokenPipe`](io::ErrorKind::BrokenPipe) on Unix. On Windows
/// its error is `WSAESHUTDOWN`, 10058, for which the standard library has no kind.
///
/// # Example
/// ```
/// use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
/// use joint::io::{TcpListener, TcpStream};
///
/// # joint::block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let (mut client, server) = future::try_zip(TcpStream::connect(listener.local_addr()?), listener.accept()).await?;
/// let (server, _) = server;
///
/// client.write_all(b"ping").await?;
/// client.close().await?;
/// // Both directions of one connection at once.
/// let mut received = Vec::new();
/// future::try_zip((&server).read_to_end(&mut received), (&server).write_all(b"pong")).await?;
/// assert_eq!(received, b"ping");
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpStream(AsyncFd<net::TcpStream>);

wraps!(TcpStream of net::TcpStream, at SocketAddr);
connects!(TcpStream to SocketAddr);
ends!(TcpStream);
reads!(TcpStream by Counted);
writes!(TcpStream by Counted, closed by |inner: &net::TcpStream| closed(inner.shutdown(Shutdown::Write)));

impl TcpStream {
    /// Connects to the first of the addresses that lets it, tried in turn.
    ///
    /// Dropped before it is ready, it gives the attempt up. How long one takes is the system's affair, minutes if nobody answers: put
    /// it into a [`timeout`](mod@crate::time).
    ///
    /// # Errors
    /// That of the last address: [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) when nobody listens there. That of the
    /// look-up, if a name is given.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, async move |address| {
            connect(&SockAddr::from(address)).await.map(Self)
        })
        .await
    }

    /// Receives without taking: the next read has the same bytes again. 0 at the end.
    ///
    /// # Errors
    /// What the system says, as for a read.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|stream| stream.peek(buffer)).await
    }

    /// Whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    /// What the system says.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.get_ref().nodelay()
    }

    /// Sends small writes at once, or collects them for a while (`TCP_NODELAY`).
    ///
    /// # Errors
    /// What the system says.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.get_ref().set_nodelay(nodelay)
    }

    /// How many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.get_ref().ttl()
    }

    /// Sets how many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    /// What the system says.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.get_ref().set_ttl(ttl)
    }
}
