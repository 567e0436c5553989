//! [`UdpSocket`].

use core::{
    future::ready,
    task::{Context, Poll},
};
use std::{
    io,
    net::{self, SocketAddr},
};

use super::{
    address::{ToSocketAddrs, first},
    socket::{Inner, Socket},
};
use crate::{driver::reactor::Way, hosted::SocketKind, io::Interest};

/// Sends and receives UDP messages.
///
/// All methods take `&self`, so one task can send while another receives.
///
/// # Example
/// ```
/// use joint_executor::io::UdpSocket;
///
/// # joint_executor::block_on(async {
/// let one = UdpSocket::bind("127.0.0.1:0").await?;
/// let other = UdpSocket::bind("127.0.0.1:0").await?;
/// one.send_to(b"ping", other.local_addr()?).await?;
///
/// let mut buffer = [0; 16];
/// let (length, sender) = other.recv_from(&mut buffer).await?;
/// assert_eq!((&buffer[..length], sender), (&b"ping"[..], one.local_addr()?));
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UdpSocket(pub(super) Socket<net::UdpSocket>);

impl UdpSocket {
    /// Binds a socket to the first address for which that succeeds. For port 0 the system chooses a
    /// port.
    ///
    /// # Errors
    /// Returns the error for the last address, or the error of the look-up if a name is given.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, |address| {
            let hosted = Socket::hosted(SocketKind::UdpSocket, address);
            let bind = || net::UdpSocket::bind(address).and_then(Self::try_from);
            ready(hosted.map_or_else(bind, |socket| socket.map(Self)))
        })
        .await
    }

    /// Connects to the first address for which that succeeds. [`send`](Self::send) then sends to
    /// that address, and messages from other addresses are not received.
    ///
    /// # Errors
    /// Returns the error for the last address, or the error of the look-up if a name is given. A
    /// missing peer is reported only when a message is sent.
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        first(address, |address| ready(self.0.inner().connect(address))).await
    }

    /// Sends a message to the first of the given addresses for which that succeeds. The message is
    /// sent as a whole. Returns its length in bytes.
    ///
    /// # Errors
    /// Returns the error for the last address, or the error of the look-up if a name is given.
    pub async fn send_to(&self, message: &[u8], to: impl ToSocketAddrs) -> io::Result<usize> {
        first(to, |to| {
            self.0.write_with(move |socket| socket.send_to(message, to))
        })
        .await
    }

    /// Sends a message to an address as [`send_to`](Self::send_to) does, but does not wait.
    ///
    /// # Errors
    /// Returns the system's error, or [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no
    /// room.
    #[inline]
    pub fn try_send_to(&self, message: &[u8], to: SocketAddr) -> io::Result<usize> {
        let send = |socket: Inner<'_, net::UdpSocket>| socket.send_to(message, to);
        self.0.try_io(Interest::WRITABLE, send)
    }

    /// Polls as [`send_to`](Self::send_to) does. Only the last task that polled to send is woken.
    ///
    /// # Errors
    /// Returns the system's error.
    #[inline]
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        message: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        (self.0).poll_by(Way::Write, cx, &mut |socket| socket.send_to(message, to))
    }

    /// Receives a message as [`recv`](Self::recv) does, but leaves it in the queue: the next call
    /// gets the same message again, as a whole.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|socket| socket.peek(buffer)).await
    }

    /// Receives a message as [`recv_from`](Self::recv_from) does, but leaves it in the queue: the
    /// next call gets the same message again.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.peek_from(buffer)).await
    }

    /// Waits for a message, leaves it in the queue, and returns the address of its sender.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.0.read_with(|socket| socket.peek_sender()).await
    }
}
