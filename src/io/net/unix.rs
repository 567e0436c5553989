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

use socket2::SockAddr;

use super::{
    connect::connect,
    counted::{Counted, closed},
};
use crate::io::AsyncFd;

/// Waits for connections at a path.
///
/// Whoever binds it removes the path afterwards: it outlives the listener, and cannot be bound again as long as it is there.
///
/// On Linux and Android a path that begins with a zero byte, such as `"\0name"`, is an *abstract*
/// name instead, here and wherever these sockets take a path. It is in no folder, every program can
/// connect to it, and it is free again when the last descriptor of the socket is closed.
///
/// # Example
/// ```
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// use joint::io::{UnixListener, UnixStream};
///
/// let path = std::env::temp_dir().join(format!("joint-listener-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// # let received = joint::block_on(async {
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
pub struct UnixListener(AsyncFd<net::UnixListener>);

wraps!(UnixListener of net::UnixListener, at SocketAddr);
accepts!(UnixListener gives UnixStream of net::UnixStream, from SocketAddr);

impl UnixListener {
    /// Binds a listener to a path at which there is nothing yet.
    ///
    /// # Errors
    /// What the system says: [`AddrInUse`](io::ErrorKind::AddrInUse) when there is something.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        net::UnixListener::bind_addr(&address(path.as_ref())?)?.try_into()
    }
}

/// A connection between two sockets of one machine.
///
/// It is read and written as a [`TcpStream`](super::TcpStream) is, also by reference.
///
/// # Example
/// ```
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// use joint::io::UnixStream;
///
/// # joint::block_on(async {
/// let (mut one, mut other) = UnixStream::pair()?;
/// one.write_all(b"ping").await?;
/// let mut buffer = [0; 4];
/// other.read_exact(&mut buffer).await?;
/// assert_eq!(&buffer, b"ping");
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixStream(AsyncFd<net::UnixStream>);

wraps!(UnixStream of net::UnixStream, at SocketAddr);
connects!(UnixStream to SocketAddr);
ends!(UnixStream);
// A read falls short behind a message that carried descriptors, though there is more.
reads!(UnixStream by core::convert::identity);
writes!(UnixStream by Counted, closed by |inner: &net::UnixStream| closed(inner.shutdown(Shutdown::Write)));

impl UnixStream {
    /// Connects to a listener at a path.
    ///
    /// # Errors
    /// What the system says: [`NotFound`](io::ErrorKind::NotFound) when there is nothing at the path,
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) when nobody listens there any more, and on Linux
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) when as many wait to be accepted as the listener lets: the system does not say when
    /// that changes, so try again later.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        // `socket2` would cut the path at a zero byte inside.
        address(path.as_ref())?;
        connect(&SockAddr::unix(path)?).await.map(Self)
    }
}

/// Sends and receives messages between sockets of one machine.
///
/// Whoever binds one removes its path afterwards, as a [`UnixListener`]'s.
///
/// # Example
/// ```
/// use joint::io::UnixDatagram;
///
/// # joint::block_on(async {
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
pub struct UnixDatagram(AsyncFd<net::UnixDatagram>);

wraps!(UnixDatagram of net::UnixDatagram, at SocketAddr);
connects!(UnixDatagram to SocketAddr);
ends!(UnixDatagram);
exchanges!(UnixDatagram with SocketAddr);

impl UnixDatagram {
    /// Binds a socket to a path at which there is nothing yet, so that others can send to it.
    ///
    /// # Errors
    /// What the system says: [`AddrInUse`](io::ErrorKind::AddrInUse) when there is something.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        net::UnixDatagram::bind_addr(&address(path.as_ref())?)?.try_into()
    }

    /// A socket without an address, which can send.
    ///
    /// # Errors
    /// What the system says.
    pub fn unbound() -> io::Result<Self> {
        net::UnixDatagram::unbound()?.try_into()
    }

    /// Connects to the socket at a path: [`send`](Self::send) sends there.
    ///
    /// # Errors
    /// What the system says: [`NotFound`](io::ErrorKind::NotFound) when there is nothing at the path.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.get_ref().connect_addr(&address(path.as_ref())?)
    }

    /// Sends a message to the socket at a path, when that has room for it. It is sent whole; how many bytes it has comes back.
    ///
    /// Dropped before it is ready, it has sent nothing. To wait for room takes another socket as long as it lasts: who often has to wait
    /// [connects](Self::connect), where it does not.
    ///
    /// # Errors
    /// What the system says: [`NotFound`](io::ErrorKind::NotFound) when there is nothing at the path.
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

    /// Waits until there is room for a message here, and at an address: of that, Linux tells only
    /// sockets that are connected to it.
    async fn room(&self, address: &SocketAddr) -> io::Result<()> {
        self.0.writable().await?;
        let probe = Self::unbound()?;
        probe.get_ref().connect_addr(address)?;
        probe.0.writable().await
    }
}

/// What a path stands for.
#[cfg(any(target_os = "linux", target_os = "android"))]
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

/// Both ends of what is connected from the start.
macro_rules! pairs {
    ($($name:ident of $inner:ty,)*) => {$(
        impl $name {
            /// Two sockets that are connected to each other.
            ///
            /// # Errors
            /// What the system says.
            pub fn pair() -> io::Result<(Self, Self)> {
                let (one, other) = <$inner>::pair()?;
                Ok((one.try_into()?, other.try_into()?))
            }
        }
    )*};
}

pairs! {
    UnixStream of net::UnixStream,
    UnixDatagram of net::UnixDatagram,
}
