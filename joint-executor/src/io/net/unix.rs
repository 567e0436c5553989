//! [`UnixListener`], [`UnixStream`] and [`UnixDatagram`].

#[cfg(target_os = "android")]
use std::os::android::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::{
    io,
    net::Shutdown,
    os::unix::net::{self, SocketAddr},
    path::Path,
};

use socket2::{Domain, SockAddr};

use super::{
    connect::{self, connect},
    halves::{OwnedReadHalf, OwnedWriteHalf, reads_to_end, split},
};
use crate::io::AsyncFd;

/// Listens for connections at a path.
///
/// The path outlives the listener, and cannot be bound again while it exists, so remove it
/// afterwards.
///
/// On Linux and Android a path that begins with a zero byte, such as `"\0name"`, is an *abstract*
/// name instead, here and in all other functions of these sockets that take a path. The name is in
/// no folder, every program can connect to it, and it is free again when the last descriptor of the
/// socket is closed.
///
/// # Example
/// ```
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// use joint_executor::io::{UnixListener, UnixStream};
///
/// let path = std::env::temp_dir().join(format!("joint-listener-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// # let received = joint_executor::block_on(async {
/// let mut client = UnixStream::connect(&path).await?;
/// let (mut server, _) = listener.accept().await?;
/// client.write_all(b"hello").await?;
/// client.close().await?;
///
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(())
/// # });
/// std::fs::remove_file(&path)?;
/// # received?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixListener(pub(super) AsyncFd<net::UnixListener>);

impl UnixListener {
    /// Binds a listener to a path that does not exist yet.
    ///
    /// # Errors
    /// Returns the system's error, which is [`AddrInUse`](io::ErrorKind::AddrInUse) if the path
    /// exists.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        net::UnixListener::bind_addr(&address(path.as_ref())?)?.try_into()
    }
}

#[inline]
pub(super) fn accept(
    listener: &net::UnixListener,
) -> io::Result<(AsyncFd<net::UnixStream>, SocketAddr)> {
    let (stream, peer) = listener.accept()?;
    // This takes one system call, where `AsyncFd::new` would take two.
    stream.set_nonblocking(true)?;
    Ok((AsyncFd::new_nonblocking(stream)?, peer))
}

/// A connection between two sockets of one machine.
///
/// Read and write it as a [`TcpStream`](super::TcpStream), also by reference.
///
/// # Example
/// ```
/// use joint_executor::io::UnixStream;
///
/// # joint_executor::block_on(async {
/// let (one, other) = UnixStream::pair()?;
/// one.write_all(b"ping").await?;
/// let mut buffer = [0; 4];
/// other.read_exact(&mut buffer).await?;
/// assert_eq!(&buffer, b"ping");
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixStream(pub(super) AsyncFd<net::UnixStream>);

reads_to_end!(UnixStream);

impl UnixStream {
    /// Connects to a listener at a path.
    ///
    /// # Errors
    /// Returns the system's error: [`NotFound`](io::ErrorKind::NotFound) if the path does not
    /// exist, [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if the listener is closed,
    /// and on Linux [`WouldBlock`](io::ErrorKind::WouldBlock) if the listener's queue of
    /// connections is full. The system does not report when there is room again, so try again
    /// later.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        // Check the path first, because `socket2` would cut it at a zero byte inside.
        address(path.as_ref())?;
        let (socket, address) = (connect::new(Domain::UNIX)?, SockAddr::unix(path)?);
        connect(socket, &address).await.map(Self)
    }

    /// Creates two sockets that are connected to each other.
    #[inline]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = net::UnixStream::pair()?;
        Ok((one.try_into()?, other.try_into()?))
    }

    /// Splits the stream into a half that reads and a half that writes, for two tasks. See
    /// [`TcpStream::into_split`](super::TcpStream::into_split).
    #[must_use]
    #[inline]
    pub fn into_split(self) -> (OwnedReadHalf<Self>, OwnedWriteHalf<Self>) {
        // It can only fail if there is no peer any more.
        split(self, |stream| drop(stream.shutdown(Shutdown::Write)))
    }
}

/// Sends and receives messages between sockets of one machine.
///
/// As with a [`UnixListener`], remove the path of a bound socket afterwards.
///
/// # Example
/// ```
/// use joint_executor::io::UnixDatagram;
///
/// # joint_executor::block_on(async {
/// let (one, other) = UnixDatagram::pair()?;
/// one.send(b"first").await?;
/// one.send(b"second").await?;
/// let mut buffer = [0; 16];
/// assert_eq!(other.recv(&mut buffer).await?, 5);
/// assert_eq!(other.recv(&mut buffer).await?, 6);
/// assert_eq!(&buffer[..6], b"second");
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixDatagram(pub(super) AsyncFd<net::UnixDatagram>);

impl UnixDatagram {
    /// Binds a socket to a path that does not exist yet, so that other sockets can send to it.
    ///
    /// # Errors
    /// Returns the system's error, which is [`AddrInUse`](io::ErrorKind::AddrInUse) if the path
    /// exists.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        net::UnixDatagram::bind_addr(&address(path.as_ref())?)?.try_into()
    }

    /// Creates two sockets that are connected to each other.
    #[inline]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = net::UnixDatagram::pair()?;
        Ok((one.try_into()?, other.try_into()?))
    }

    /// Creates a socket without an address, which can send.
    #[inline]
    pub fn unbound() -> io::Result<Self> {
        net::UnixDatagram::unbound()?.try_into()
    }

    /// Connects to the socket at a path, so that [`send`](Self::send) sends to it.
    ///
    /// # Errors
    /// Returns the system's error, which is [`NotFound`](io::ErrorKind::NotFound) if the path does
    /// not exist.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.get_ref().connect_addr(&address(path.as_ref())?)
    }

    /// Sends a message to the socket at a path, once that socket has room for it. The message is
    /// sent as a whole. Returns its length in bytes.
    ///
    /// If the future is dropped before it is ready, nothing has been sent. Waiting for room takes
    /// an additional socket while it lasts. If that happens often, [connect](Self::connect) the
    /// socket, so that none is needed.
    ///
    /// # Errors
    /// Returns the system's error, which is [`NotFound`](io::ErrorKind::NotFound) if the path does
    /// not exist.
    pub async fn send_to(&self, message: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let address = address(path.as_ref())?;
        loop {
            match self.get_ref().send_to_addr(message, &address) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.room(&address).await?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Sends as [`send_to`](Self::send_to) does, but does not wait.
    ///
    /// # Errors
    /// As for [`send_to`](Self::send_to), or [`WouldBlock`](io::ErrorKind::WouldBlock) if there is
    /// no room.
    pub fn try_send_to(&self, message: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let address = address(path.as_ref())?;
        // The room that is missing may be that of the other socket, about which there is no event.
        self.get_ref().send_to_addr(message, &address)
    }

    /// Waits until there is room for a message on this side, and at `address`. Linux reports the
    /// room at an address only to sockets that are connected to it.
    async fn room(&self, address: &SocketAddr) -> io::Result<()> {
        self.0.writable().await?;
        let probe = Self::unbound()?;
        probe.get_ref().connect_addr(address)?;
        probe.0.writable().await.map(drop)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
fn address(path: &Path) -> io::Result<SocketAddr> {
    use std::os::unix::ffi::OsStrExt;

    match path.as_os_str().as_bytes().strip_prefix(b"\0") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn address(path: &Path) -> io::Result<SocketAddr> {
    SocketAddr::from_pathname(path)
}
