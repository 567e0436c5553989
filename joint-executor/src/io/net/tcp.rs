//! [`TcpListener`] and [`TcpStream`].

use core::{future::ready, time::Duration};
use std::{
    io,
    net::{self, Shutdown, SocketAddr},
};

use socket2::{Domain, SockAddr, Socket};

use super::{
    address::{ToSocketAddrs, first},
    connect::{self, connect},
    halves::{OwnedReadHalf, OwnedWriteHalf, reads_to_end, split},
    socket::{Inner, Socket as Either},
};
use crate::{hosted::SocketKind, io::AsyncFd};

/// The maximum number of connections that wait to be accepted. The system may allow fewer.
const BACKLOG: i32 = 1024;

/// Listens for TCP connections. The [module](crate::io) has an example.
pub struct TcpListener(pub(super) Either<net::TcpListener>);

impl TcpListener {
    /// Binds a listener to the first address for which that succeeds. For port 0 the system chooses
    /// a port.
    ///
    /// On Unix the address can be bound again as soon as the listener is dropped (`SO_REUSEADDR`).
    /// Up to 1024 connections may wait to be accepted, if the system allows that many.
    ///
    /// # Errors
    /// Returns the error for the last address, or the error of the look-up if a name is given.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, |address| ready(bind(address))).await
    }
}

#[inline]
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    if let Some(hosted) = Either::hosted(SocketKind::TcpListener, address) {
        return hosted.map(TcpListener);
    }
    let socket = connect::new(Domain::for_address(address))?;
    // On Windows the option would allow other programs to take over the address.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    let listener = AsyncFd::new_nonblocking(socket.into())?;
    Ok(TcpListener(listener.into()))
}

#[inline]
pub(super) fn accept(
    listener: Inner<'_, net::TcpListener>,
) -> io::Result<(Either<net::TcpStream>, SocketAddr)> {
    match listener {
        Inner::System(listener) => {
            let (stream, peer) = listener.accept()?;
            // This takes one system call, where `AsyncFd::new` would take two.
            stream.set_nonblocking(true)?;
            Ok((AsyncFd::new_nonblocking(stream)?.into(), peer))
        }
        Inner::Hosted(listener) => {
            let (stream, peer) = listener.accept()?;
            Ok((stream.into(), peer))
        }
    }
}

/// A TCP connection.
///
/// Read and write it by [`read`](Self::read), [`read_exact`](Self::read_exact),
/// [`read_to_end`](Self::read_to_end), [`write`](Self::write) and [`write_all`](Self::write_all),
/// or by [`AsyncRead`](futures_io::AsyncRead) and [`AsyncWrite`](futures_io::AsyncWrite), with the
/// extensions of `futures-lite` or `futures-util`. All of that works by reference, so one task can
/// read while another writes. Spawned tasks share it in an [`Arc`](alloc::sync::Arc). Closing it,
/// by `poll_close`, shuts down the writing direction, and the peer reads up to the end. Dropping it
/// ends both directions.
///
/// A write after closing fails. On Unix the error is of the kind
/// [`BrokenPipe`](io::ErrorKind::BrokenPipe). On Windows it is `WSAESHUTDOWN` (10058), for which
/// the standard library has no kind.
///
/// # Example
/// ```
/// use futures_lite::{AsyncWriteExt, future};
/// use joint_executor::io::{TcpListener, TcpStream};
///
/// # joint_executor::block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let connect = TcpStream::connect(listener.local_addr()?);
/// let (mut client, server) = future::try_zip(connect, listener.accept()).await?;
/// let (server, _) = server;
///
/// client.write_all(b"ping").await?;
/// client.close().await?;
/// // Both directions of one connection at once.
/// let mut received = Vec::new();
/// future::try_zip(server.read_to_end(&mut received), server.write_all(b"pong")).await?;
/// assert_eq!(received, b"ping");
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpStream(pub(super) Either<net::TcpStream>);

reads_to_end!(TcpStream);

impl TcpStream {
    /// Connects to the first address for which that succeeds.
    ///
    /// Dropping the future cancels the attempt. The system limits how long an attempt takes, which
    /// is minutes if there is no answer. For a shorter limit, use a
    /// [`timeout`](crate::time::timeout()).
    ///
    /// # Errors
    /// Returns the error for the last address, which is
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if there is no listener, or the
    /// error of the look-up if a name is given.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, async move |address| {
            let Some(hosted) = Either::hosted(SocketKind::TcpStream, address) else {
                let socket = connect::new(Domain::for_address(address))?;
                let stream = connect(socket, &SockAddr::from(address)).await?;
                return Ok(Self(stream.into()));
            };
            let stream: Either<net::TcpStream> = hosted?;
            stream.write_with(|stream| stream.connect(address)).await?;
            Ok(Self(stream))
        })
        .await
    }

    /// Connects a socket that has been prepared, for example by the crate `socket2`: bound to an
    /// address, or with options that must be set before.
    ///
    /// A listener with options of its own is made likewise, and converted by `try_into` once it
    /// listens.
    ///
    /// # Errors
    /// Returns the system's error, as [`connect`](Self::connect) does.
    ///
    /// # Example
    /// ```
    /// use std::net::SocketAddr;
    ///
    /// use joint_executor::io::{TcpListener, TcpStream};
    /// use socket2::{Domain, Socket, Type};
    ///
    /// # joint_executor::block_on(async {
    /// let localhost = SocketAddr::from(([127, 0, 0, 1], 0));
    /// let listener = TcpListener::bind(localhost).await?;
    ///
    /// let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    /// socket.bind(&localhost.into())?;
    /// socket.set_keepalive(true)?;
    /// let client = TcpStream::connect_std(socket.into(), listener.local_addr()?).await?;
    /// let (server, peer) = listener.accept().await?;
    /// assert_eq!(client.local_addr()?, peer);
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "TcpSocket")]
    pub async fn connect_std(socket: net::TcpStream, address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::from(socket);
        socket.set_nonblocking(true)?;
        let stream = connect(socket, &SockAddr::from(address)).await?;
        Ok(Self(stream.into()))
    }

    /// Splits the stream into a half that reads and a half that writes, for two tasks. If one
    /// function uses both directions, references to the stream do the same without an allocation.
    ///
    /// # Example
    /// ```
    /// use joint_executor::io::{TcpListener, TcpStream};
    ///
    /// # joint_executor::block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let one = TcpStream::connect(listener.local_addr()?).await?;
    /// let (other, _) = listener.accept().await?;
    /// let (reader, writer) = one.into_split();
    /// // The end of the writing half is the end of what the peer reads.
    /// drop(writer);
    /// assert_eq!(other.read(&mut [0; 8]).await?, 0);
    /// other.write_all(b"still").await?;
    /// reader.read_exact(&mut [0; 5]).await?;
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn into_split(self) -> (OwnedReadHalf<Self>, OwnedWriteHalf<Self>) {
        // It can only fail if there is no peer any more.
        split(self, |stream| drop(stream.shutdown(Shutdown::Write)))
    }

    /// Receives bytes without removing them, so that the next read gets the same bytes again.
    /// Returns 0 at the end of the stream.
    ///
    /// # Errors
    /// Returns the system's error, as a read does.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|stream| stream.peek(buffer)).await
    }

    /// Returns whether small writes are sent at once (`TCP_NODELAY`).
    #[inline]
    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.inner().nodelay()
    }

    /// Sets whether small writes are sent at once, or collected for a while (`TCP_NODELAY`).
    #[inline]
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.inner().set_nodelay(nodelay)
    }

    /// Returns how long the system tries to send the rest after the stream is dropped
    /// (`SO_LINGER`), or `None` if that is the system's choice.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.0.inner().linger()
    }

    /// Sets how long the system tries to send the rest after the stream is dropped (`SO_LINGER`).
    /// With zero, the drop discards the rest and resets the connection. With a longer time, some
    /// systems block the thread that drops the stream, for up to that time.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.0.inner().set_linger(linger)
    }

    /// Returns how many routers a packet may pass (`IP_TTL`).
    #[inline]
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.inner().ttl()
    }

    /// Sets how many routers a packet may pass (`IP_TTL`).
    #[inline]
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.inner().set_ttl(ttl)
    }
}
