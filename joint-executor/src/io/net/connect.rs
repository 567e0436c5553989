//! Connecting a stream socket without blocking.

use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd as Owned;
#[cfg(windows)]
use std::os::windows::io::OwnedSocket as Owned;

use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use crate::{driver::reactor::Open, io::AsyncFd};

/// Connects a non-blocking socket to the address, and converts it to `S`.
pub(super) async fn connect<S>(socket: Socket, address: &SockAddr) -> io::Result<AsyncFd<S>>
where
    S: From<Owned> + Open,
    for<'a> SockRef<'a>: From<&'a S>,
{
    let is_connected = begin(&socket, address)?;
    let stream = AsyncFd::new_nonblocking(S::from(socket.into()))?;
    if !is_connected {
        stream
            .write_with(|stream| end(&SockRef::from(stream)))
            .await?;
    }
    Ok(stream)
}

#[inline]
pub(super) fn new(domain: Domain) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Begins to connect, and returns whether the socket is connected already. A call that a signal
/// interrupts continues in the background, as one that would block does.
#[inline]
fn begin(socket: &Socket, address: &SockAddr) -> io::Result<bool> {
    match socket.connect(address) {
        Err(error) if is_under_way(&error) => Ok(false),
        result => result.map(|()| true),
    }
}

#[cfg(unix)]
fn is_under_way(error: &io::Error) -> bool {
    // `WouldBlock` does not count: for a Unix socket it means that the listener has no room, and
    // that no attempt has begun.
    error.kind() == io::ErrorKind::Interrupted || error.raw_os_error() == Some(libc::EINPROGRESS)
}

#[cfg(windows)]
fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// Returns how the attempt has ended, or `WouldBlock` if it has not, because the system may report
/// the socket as writable earlier.
#[inline]
fn end(socket: &Socket) -> io::Result<()> {
    let connected = socket.peer_addr();
    connected.map(drop).or_else(|error| {
        Err(match socket.take_error()? {
            Some(why) => why,
            None if error.kind() == io::ErrorKind::NotConnected => io::ErrorKind::WouldBlock.into(),
            None => error,
        })
    })
}

/// Returns the result of closing a socket by `shutdown`. If the peer is gone, there is nothing to
/// shut down, and that is not an error.
pub(super) fn closed(shutdown: io::Result<()>) -> io::Result<()> {
    match shutdown {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        result => result,
    }
}
