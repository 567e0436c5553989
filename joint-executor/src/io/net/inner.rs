//! The functions of the standard library's sockets, for [`Inner`].

use core::{fmt, time::Duration};
use std::{
    io::{self, IoSlice, IoSliceMut, Read, Write},
    net::{self, Shutdown, SocketAddr},
};

use socket2::SockRef;

use super::socket::{Hosted, Inner};
use crate::hosted::StreamOptions;

/// Implements functions that the standard library has. The closure is what they do on a hosted
/// socket.
macro_rules! both {
    ($inner:ty; $($name:ident($($argument:ident: $type:ty),*) -> $result:ty: $hosted:expr;)*) => {
        impl Inner<'_, $inner> {$(
            #[inline]
            pub(super) fn $name(self, $($argument: $type),*) -> io::Result<$result> {
                match self {
                    Self::System(socket) => socket.$name($($argument),*),
                    Self::Hosted(socket) => ($hosted)(socket),
                }
            }
        )*}
    };
}

both! {
    net::TcpListener;
    local_addr() -> SocketAddr: Hosted::local_addr;
}

both! {
    net::TcpStream;
    local_addr() -> SocketAddr: Hosted::local_addr;
    peer_addr() -> SocketAddr: Hosted::peer_addr;
    shutdown(how: Shutdown) -> (): |own: &Hosted| own.shutdown(how);
    peek(buffer: &mut [u8]) -> usize: |own: &Hosted| Ok(own.receive(buffer, true)?.0);
    nodelay() -> bool: |own| Ok(options(own, &|_| ())?.nodelay);
    set_nodelay(nodelay: bool) -> (): |own| options(own, &|all| all.nodelay = nodelay).map(drop);
    ttl() -> u32: |own| Ok(options(own, &|_| ())?.ttl);
    set_ttl(ttl: u32) -> (): |own| options(own, &|all| all.ttl = ttl).map(drop);
}

both! {
    net::UdpSocket;
    local_addr() -> SocketAddr: Hosted::local_addr;
    peer_addr() -> SocketAddr: Hosted::peer_addr;
    connect(to: SocketAddr) -> (): |own: &Hosted| own.connect(to);
    send(message: &[u8]) -> usize: |own: &Hosted| own.send(message, None);
    send_to(message: &[u8], to: SocketAddr) -> usize: |own: &Hosted| own.send(message, Some(to));
    recv(buffer: &mut [u8]) -> usize: |own: &Hosted| Ok(own.receive(buffer, false)?.0);
    recv_from(buffer: &mut [u8]) -> (usize, SocketAddr): |own: &Hosted| own.receive(buffer, false);
    peek(buffer: &mut [u8]) -> usize: |own: &Hosted| Ok(own.receive(buffer, true)?.0);
    peek_from(buffer: &mut [u8]) -> (usize, SocketAddr): |own: &Hosted| own.receive(buffer, true);
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
    pub(super) fn connect(self, address: SocketAddr) -> io::Result<()> {
        match self {
            Self::System(_) => Ok(()),
            Self::Hosted(stream) => stream.connect(address),
        }
    }

    pub(super) fn linger(self) -> io::Result<Option<Duration>> {
        match self {
            Self::System(stream) => SockRef::from(stream).linger(),
            Self::Hosted(stream) => Ok(options(stream, &|_| ())?.linger),
        }
    }

    pub(super) fn set_linger(self, linger: Option<Duration>) -> io::Result<()> {
        match self {
            Self::System(stream) => SockRef::from(stream).set_linger(linger),
            Self::Hosted(stream) => options(stream, &|own| own.linger = linger).map(drop),
        }
    }
}

/// Returns the options of a hosted stream, after `change`.
fn options(stream: &Hosted, change: &dyn Fn(&mut StreamOptions)) -> io::Result<StreamOptions> {
    let mut options = StreamOptions::default();
    stream.with_options(&mut |own| {
        change(own);
        options = own.clone();
    })?;
    Ok(options)
}

impl Inner<'_, net::UdpSocket> {
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
            Self::Hosted(socket) => (f.debug_struct("Hosted"))
                .field("addr", &socket.local_addr().ok())
                .field("peer", &socket.peer_addr().ok())
                .finish(),
        }
    }
}
