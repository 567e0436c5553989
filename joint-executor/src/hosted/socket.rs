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
/// use std::{
///     collections::VecDeque,
///     io::{self, ErrorKind},
///     net::SocketAddr,
///     sync::{Arc, Mutex},
///     task::{Context, Poll},
/// };
///
/// use joint_executor::{
///     Builder, Executor,
///     hosted::{self, Host, Socket, SocketKind},
///     io::{Interest, Ready, UdpSocket},
/// };
/// use joint::task::Runnable;
///
/// /// A socket that receives what it sends.
/// struct Echo(SocketAddr, Mutex<VecDeque<Vec<u8>>>);
///
/// impl Socket for Echo {
///     fn local_addr(&self) -> io::Result<SocketAddr> {
///         Ok(self.0)
///     }
///
///     fn poll_ready(&self, _: Interest, _: &mut Context<'_>) -> Poll<io::Result<Ready>> {
///         match self.1.lock().unwrap().is_empty() {
///             true => Poll::Pending, // It has no other user who could send.
///             false => Poll::Ready(Ok(Ready::READABLE)),
///         }
///     }
///
///     fn send(&self, bytes: &[u8], _: Option<SocketAddr>) -> io::Result<usize> {
///         self.1.lock().unwrap().push_back(bytes.to_vec());
///         Ok(bytes.len())
///     }
///
///     fn receive(&self, buffer: &mut [u8], _: bool) -> io::Result<(usize, SocketAddr)> {
///         let message = self.1.lock().unwrap().pop_front();
///         let message = message.ok_or(ErrorKind::WouldBlock)?;
///         buffer[..message.len()].copy_from_slice(&message);
///         Ok((message.len(), self.0))
///     }
/// }
///
/// struct Echoes(Arc<Executor>);
///
/// impl Host for Echoes {
///     fn open(&self, _: SocketKind, address: SocketAddr) -> Option<io::Result<Box<dyn Socket>>> {
///         Some(Ok(Box::new(Echo(address, Mutex::default()))))
///     }
///     // ...
/// #     fn executor(&self) -> Arc<Executor> { self.0.clone() }
/// #     fn build(&self, builder: Builder) -> io::Result<Executor> { builder.build() }
/// #     fn call_blocking(&self, call: Runnable) { call.run(); }
/// }
///
/// let executor = Arc::new(Executor::builder().workers(1).build()?);
/// let _entered = hosted::enter(Arc::new(Echoes(executor)));
/// joint::block_on(async {
///     let socket = UdpSocket::bind("10.0.0.1:7").await?;
///     socket.send_to(b"ping", "10.0.0.2:7").await?;
///     let mut buffer = [0; 8];
///     assert_eq!(socket.recv(&mut buffer).await?, 4);
///     Ok::<(), io::Error>(())
/// })?;
/// # Ok::<(), io::Error>(())
/// ```
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
        let _ = peer;
        unsupported()
    }

    /// Accepts a connection.
    fn accept(&self) -> io::Result<(Box<dyn Socket>, SocketAddr)> {
        unsupported()
    }

    /// Receives bytes or a message, and returns the length and the sender. `peeks` leaves them
    /// where they are.
    fn receive(&self, buffer: &mut [u8], peeks: bool) -> io::Result<(usize, SocketAddr)> {
        let _ = (buffer, peeks);
        unsupported()
    }

    /// Sends bytes or a message, to an address or else to the peer. Returns how many bytes.
    fn send(&self, bytes: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        let _ = (bytes, to);
        unsupported()
    }

    /// Shuts down one direction of a stream or both.
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let _ = how;
        unsupported()
    }

    /// Calls `f` with the options of a stream, which it may change.
    fn with_options(&self, f: &mut dyn FnMut(&mut StreamOptions)) -> io::Result<()> {
        let _ = f;
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
