//! [`Socket`]: a socket of a [`Host`](super::Host)'s own network.

use alloc::boxed::Box;
use core::{
    panic::{RefUnwindSafe, UnwindSafe},
    task::{Context, Poll},
    time::Duration,
};
use std::{
    io,
    net::{Shutdown, SocketAddr},
};

use crate::driver::reactor::{Interest, Ready};

/// A socket of a [`Host`](super::Host)'s own network, which is behind a
/// [`TcpListener`](crate::io::TcpListener), a [`TcpStream`](crate::io::TcpStream) or a
/// [`UdpSocket`](crate::io::UdpSocket).
///
/// The operations do not wait. One that cannot be done yet returns
/// [`WouldBlock`](io::ErrorKind::WouldBlock), and [`poll_ready`](Self::poll_ready) is pending until
/// it can. By default each is an error of the kind [`Unsupported`](io::ErrorKind::Unsupported), so
/// a socket needs only those of its [kind](SocketKind). Dropping it closes the socket.
///
/// # Errors
/// The errors of all functions are those of the system's sockets.
///
/// # Example
/// ```
/// use std::{io, net::SocketAddr, sync::Arc, task::{Context, Poll}};
///
/// use joint_executor::{
///     Builder, Executor,
///     hosted::{self, Host, Socket, SocketKind},
///     io::{Interest, Ready, UdpSocket},
/// };
/// use joint::task::Runnable;
///
/// /// A socket that loses what it sends, and is never readable.
/// struct Void(SocketAddr);
///
/// impl Socket for Void {
///     fn local_addr(&self) -> io::Result<SocketAddr> {
///         Ok(self.0)
///     }
///
///     fn poll_ready(&self, interest: Interest, _: &mut Context<'_>) -> Poll<io::Result<Ready>> {
///         match interest.is_writable() {
///             true => Poll::Ready(Ok(Ready::WRITABLE)),
///             false => Poll::Pending,
///         }
///     }
///
///     fn send(&self, bytes: &[u8], _: Option<SocketAddr>) -> io::Result<usize> {
///         Ok(bytes.len())
///     }
/// }
///
/// struct Voids(Arc<Executor>);
///
/// impl Host for Voids {
///     fn open(&self, _: SocketKind, address: SocketAddr) -> Option<io::Result<Box<dyn Socket>>> {
///         Some(Ok(Box::new(Void(address))))
///     }
///     // ...
/// #     fn executor(&self) -> Arc<Executor> { self.0.clone() }
/// #     fn build(&self, builder: Builder) -> io::Result<Executor> { builder.build() }
/// #     fn call_blocking(&self, call: Runnable) { call.run(); }
/// }
///
/// let executor = Arc::new(Executor::builder().workers(1).build()?);
/// let _entered = hosted::enter(Arc::new(Voids(executor)));
/// joint::block_on(async {
///     let socket = UdpSocket::bind("10.0.0.1:7").await?;
///     assert_eq!(socket.send_to(b"ping", "10.0.0.2:7").await?, 4);
///     Ok::<(), io::Error>(())
/// })?;
/// # Ok::<(), io::Error>(())
/// ```
#[expect(unused_variables, reason = "the defaults do nothing")]
pub trait Socket: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the address that the socket is bound to.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Polls until the socket is ready for anything of a set. Any number of tasks may wait.
    fn poll_ready(&self, interest: Interest, cx: &mut Context<'_>) -> Poll<io::Result<Ready>>;

    /// Returns the address that the socket is connected to.
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        unsupported()
    }

    /// Connects a socket for datagrams. Of a stream, which has begun to connect when it was opened,
    /// it returns how that has ended, and before that `WouldBlock`: the stream is writable then.
    fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        unsupported()
    }

    /// Accepts a connection.
    fn accept(&self) -> io::Result<(Box<dyn Socket>, SocketAddr)> {
        unsupported()
    }

    /// Receives bytes or a message, and returns the length and the sender. `peeks` leaves them
    /// where they are.
    fn receive(&self, buffer: &mut [u8], peeks: bool) -> io::Result<(usize, SocketAddr)> {
        unsupported()
    }

    /// Sends bytes or a message, to an address or else to the peer. Returns how many bytes.
    fn send(&self, bytes: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        unsupported()
    }

    /// Shuts down one direction of a stream or both.
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        unsupported()
    }

    /// Calls `f` with the options of a stream, which it may change.
    fn with_options(&self, f: &mut dyn FnMut(&mut StreamOptions)) -> io::Result<()> {
        unsupported()
    }
}

fn unsupported<R>() -> io::Result<R> {
    let message = "this socket of a host cannot do this";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

/// What a [`Host`](super::Host) opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// A listener, bound to the address.
    TcpListener,
    /// A stream, which begins to connect to the address.
    TcpStream,
    /// A socket for datagrams, bound to the address.
    UdpSocket,
}

/// The options of a stream, with those of a new one as the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Whether small writes are sent at once.
    pub nodelay: bool,
    /// How many routers a packet may pass.
    pub ttl: u32,
    /// How long the rest is sent after the drop. With zero, the drop resets the connection.
    pub linger: Option<Duration>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            nodelay: false,
            ttl: 64,
            linger: None,
        }
    }
}
