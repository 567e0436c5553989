//! The functions of the standard library's sockets, for [`Inner`].

use core::{fmt, time::Duration};
use std::{
    io::{self, IoSlice, IoSliceMut, Read, Write},
    net::{self, Shutdown, SocketAddr},
};

use socket2::SockRef;

use super::socket::Inner;
use crate::hosted::{self, StreamOptions};

/// Implements functions that both kinds of sockets have alike.
macro_rules! both {
    ($inner:ty; $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Inner<'_, $inner> {$(
            #[inline]
            pub(super) fn $name(self, $($argument: $type),*) -> io::Result<$result> {
                match self {
                    Self::System(socket) => socket.$name($($argument),*),
                    Self::Hosted(socket) => socket.$name($($argument),*),
                }
            }
        )*}
    };
}

both! {
    net::TcpListener;
    local_addr() -> SocketAddr;
}

both! {
    net::TcpStream;
    local_addr() -> SocketAddr;
    peer_addr() -> SocketAddr;
    shutdown(how: Shutdown) -> ();
}

both! {
    net::UdpSocket;
    local_addr() -> SocketAddr;
    peer_addr() -> SocketAddr;
    connect(address: SocketAddr) -> ();
}

impl Read for Inner<'_, net::TcpStream> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::System(stream) => stream.read(buffer),
            Self::Hosted(stream) => Ok(stream.receive(buffer, false)?.0),
        }
    }

    #[inline]
    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if let Self::System(stream) = self {
            return stream.read_vectored(buffers);
        }
        let first = buffers.iter_mut().find(|buffer| !buffer.is_empty());
        self.read(first.map_or(&mut [], |buffer| &mut **buffer))
    }
}

impl Write for Inner<'_, net::TcpStream> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::System(stream) => stream.write(bytes),
            Self::Hosted(stream) => stream.send(bytes, None),
        }
    }

    #[inline]
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Self::System(stream) = self {
            return stream.write_vectored(slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.write(first.map_or(&[], |slice| &**slice))
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Inner<'_, net::TcpStream> {
    /// Returns how an attempt to connect has ended that a hosted stream has begun.
    #[inline]
    pub(super) fn connect(self, address: SocketAddr) -> io::Result<()> {
        match self {
            Self::System(_) => Ok(()),
            Self::Hosted(stream) => stream.connect(address),
        }
    }

    #[inline]
    pub(super) fn peek(self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::System(stream) => stream.peek(buffer),
            Self::Hosted(stream) => Ok(stream.receive(buffer, true)?.0),
        }
    }

    #[inline]
    pub(super) fn nodelay(self) -> io::Result<bool> {
        match self {
            Self::System(stream) => stream.nodelay(),
            Self::Hosted(stream) => Ok(options(stream, |_| ())?.nodelay),
        }
    }

    #[inline]
    pub(super) fn set_nodelay(self, nodelay: bool) -> io::Result<()> {
        match self {
            Self::System(stream) => stream.set_nodelay(nodelay),
            Self::Hosted(stream) => options(stream, |own| own.nodelay = nodelay).map(drop),
        }
    }

    #[inline]
    pub(super) fn linger(self) -> io::Result<Option<Duration>> {
        match self {
            Self::System(stream) => SockRef::from(stream).linger(),
            Self::Hosted(stream) => Ok(options(stream, |_| ())?.linger),
        }
    }

    #[inline]
    pub(super) fn set_linger(self, linger: Option<Duration>) -> io::Result<()> {
        match self {
            Self::System(stream) => SockRef::from(stream).set_linger(linger),
            Self::Hosted(stream) => options(stream, |own| own.linger = linger).map(drop),
        }
    }

    #[inline]
    pub(super) fn ttl(self) -> io::Result<u32> {
        match self {
            Self::System(stream) => stream.ttl(),
            Self::Hosted(stream) => Ok(options(stream, |_| ())?.ttl),
        }
    }

    #[inline]
    pub(super) fn set_ttl(self, ttl: u32) -> io::Result<()> {
        match self {
            Self::System(stream) => stream.set_ttl(ttl),
            Self::Hosted(stream) => options(stream, |own| own.ttl = ttl).map(drop),
        }
    }
}

/// Returns the options of a hosted stream, after `change`.
fn options(
    stream: &dyn hosted::Socket,
    change: impl Fn(&mut StreamOptions),
) -> io::Result<StreamOptions> {
    let mut options = StreamOptions::default();
    stream.with_options(&mut |own| {
        change(own);
        options = own.clone();
    })?;
    Ok(options)
}

impl Inner<'_, net::UdpSocket> {
    #[inline]
    pub(super) fn send(self, message: &[u8]) -> io::Result<usize> {
        match self {
            Self::System(socket) => socket.send(message),
            Self::Hosted(socket) => socket.send(message, None),
        }
    }

    #[inline]
    pub(super) fn send_to(self, message: &[u8], to: SocketAddr) -> io::Result<usize> {
        match self {
            Self::System(socket) => socket.send_to(message, to),
            Self::Hosted(socket) => socket.send(message, Some(to)),
        }
    }

    #[inline]
    pub(super) fn recv(self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::System(socket) => socket.recv(buffer),
            Self::Hosted(socket) => Ok(socket.receive(buffer, false)?.0),
        }
    }

    #[inline]
    pub(super) fn recv_from(self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            Self::System(socket) => socket.recv_from(buffer),
            Self::Hosted(socket) => socket.receive(buffer, false),
        }
    }

    #[inline]
    pub(super) fn peek(self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(match self {
            Self::System(socket) => socket.peek(buffer)?,
            Self::Hosted(socket) => socket.receive(buffer, true)?.0,
        })
    }

    #[inline]
    pub(super) fn peek_from(self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            Self::System(socket) => socket.peek_from(buffer),
            Self::Hosted(socket) => socket.receive(buffer, true),
        }
    }

    #[inline]
    pub(super) fn peek_sender(self) -> io::Result<SocketAddr> {
        match self {
            Self::System(socket) => {
                let sender = SockRef::from(socket).peek_sender()?;
                let none = || io::ErrorKind::AddrNotAvailable.into();
                sender.as_socket().ok_or_else(none)
            }
            Self::Hosted(socket) => Ok(socket.receive(&mut [], true)?.1),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Inner<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(socket) => socket.fmt(f),
            Self::Hosted(socket) => {
                let mut debug = f.debug_struct("Simulated");
                debug.field("addr", &socket.local_addr().ok());
                debug.field("peer", &socket.peer_addr().ok());
                debug.finish()
            }
        }
    }
}
