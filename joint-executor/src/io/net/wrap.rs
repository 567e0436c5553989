//! The code that the types share, written once and implemented for each. With a trait instead,
//! callers would have to import the trait. Most functions are `#[inline]`, so that they are
//! compiled where they are used, and not here for each type.

use core::{
    fmt,
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
};
#[cfg(windows)]
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};
#[cfg(unix)]
use std::os::{
    fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    unix::net as local,
};
use std::{
    io::{self, IoSlice, IoSliceMut, Read, Write},
    net::{self, Shutdown, SocketAddr},
};

use futures_io::{AsyncRead, AsyncWrite};

use super::{
    connect::closed,
    socket::Inner,
    tcp::{self, TcpListener, TcpStream},
    udp::UdpSocket,
};
#[cfg(unix)]
use super::{
    pipe::{PipeReader, PipeWriter},
    unix::{self, UnixDatagram, UnixListener, UnixStream},
};
use crate::{
    driver::reactor::Way,
    io::{
        AsyncFd, Interest, Ready,
        by_name::{reads_by_name, reads_to_end, short, writes_by_name},
        uninit::{ReadUninit, initialized},
    },
};

/// Implements access to the descriptor.
#[cfg(unix)]
macro_rules! holds {
    ($name:ident) => {
        impl AsFd for $name {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.get_ref().as_fd()
            }
        }

        impl AsRawFd for $name {
            fn as_raw_fd(&self) -> RawFd {
                self.0.get_ref().as_raw_fd()
            }
        }
    };
}

/// Implements what every socket has: access to the standard library's type, its address, `Debug`,
/// and the descriptor.
macro_rules! wraps {
    ($name:ident of $inner:ty, at $address:ty $(, of a $host:literal)?) => {
        impl $name {
            /// Returns the address that the socket is bound to.
            #[inline]
            pub fn local_addr(&self) -> io::Result<$address> {
                self.0.inner().local_addr()
            }

            /// Returns the standard library's type, for setting its options. It must stay
            /// non-blocking.
            $(
            ///
            /// # Panics
            #[doc = concat!("If it is a ", $host, "'s, because there is no descriptor.")]
            )?
            pub fn get_ref(&self) -> &$inner {
                self.0.get_ref()
            }

            /// Converts it back to the standard library's type, which stays non-blocking.
            ///
            /// # Errors
            /// Returns the system's error if the descriptor cannot be deregistered.
            $(#[doc = concat!("If it is a ", $host, "'s, it is of the kind [`Unsupported`](io::ErrorKind::Unsupported).")])?
            #[inline]
            pub fn into_std(self) -> io::Result<$inner> {
                self.0.into_inner()
            }
        }

        /// Sets the socket to non-blocking.
        impl TryFrom<$inner> for $name {
            type Error = io::Error;

            #[inline]
            fn try_from(inner: $inner) -> io::Result<Self> {
                AsyncFd::new(inner).map(|fd| Self(fd.into()))
            }
        }

        impl fmt::Debug for $name {
            #[inline]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.inner().fmt(f)
            }
        }

        #[cfg(unix)]
        holds!($name);

        #[cfg(windows)]
        impl AsSocket for $name {
            fn as_socket(&self) -> BorrowedSocket<'_> {
                self.get_ref().as_socket()
            }
        }

        #[cfg(windows)]
        impl AsRawSocket for $name {
            fn as_raw_socket(&self) -> RawSocket {
                self.get_ref().as_raw_socket()
            }
        }
    };
}

/// Implements a listener's `accept`.
macro_rules! accepts {
    ($name:ident gives $stream:ident by $accept:path, from $address:ty) => {
        impl $name {
            /// Waits for a connection, and accepts it.
            ///
            /// If the future is dropped before it is ready, no connection is lost. Several tasks
            /// can accept from one listener.
            ///
            /// # Errors
            /// Returns the system's error. No error ends the listener, which can accept again after
            /// each. Two need care:
            ///
            /// * [`ConnectionAborted`](io::ErrorKind::ConnectionAborted): the peer closed the
            ///   connection before it was accepted. Accept again.
            /// * No descriptor is free (`EMFILE`, `ENFILE`), or no memory: the connection stays in
            ///   the listener's queue, and another `accept` fails at once. Close a descriptor, or
            ///   sleep before the next try.
            #[doc(alias = "incoming")]
            pub async fn accept(&self) -> io::Result<($stream, $address)> {
                let (stream, peer) = self.0.read_with($accept).await?;
                Ok(($stream(stream), peer))
            }

            /// Polls for a connection, as [`accept`](Self::accept) does. With the feature
            /// `futures-core` the listener is a stream of connections. Only the last task that
            /// polled is woken.
            ///
            /// # Errors
            /// As for [`accept`](Self::accept).
            #[inline]
            pub fn poll_accept(
                &self,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<($stream, $address)>> {
                let accepted = self.0.poll_with(Way::Read, cx, $accept, |_| false);
                accepted.map_ok(|(stream, peer)| ($stream(stream), peer))
            }
        }

        /// The connections, with the addresses of the peers. It never ends.
        #[cfg(feature = "futures-core")]
        impl futures_core::Stream for $name {
            type Item = io::Result<($stream, $address)>;

            fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
                self.poll_accept(cx).map(Some)
            }
        }
    };
}

/// Implements `peer_addr` of a socket that is connected, or can be, and `shutdown`.
macro_rules! connects {
    ($name:ident to $address:ty $(, ends by $how:ty)?) => {
        impl $name {
            /// Returns the address that the socket is connected to.
            ///
            /// # Errors
            /// Returns the system's error, which is
            /// [`NotConnected`](io::ErrorKind::NotConnected) if the socket is not connected.
            pub fn peer_addr(&self) -> io::Result<$address> {
                self.0.inner().peer_addr()
            }

            $(
            /// Shuts down one direction or both, for every user of the socket. After the writing
            /// direction is shut down, the peer reads up to the end, and writes on this side fail.
            ///
            /// # Errors
            /// Returns the system's error, which is
            /// [`NotConnected`](io::ErrorKind::NotConnected) if there is no peer, and on some
            /// systems also if the peer has ended the connection.
            pub fn shutdown(&self, how: $how) -> io::Result<()> {
                self.0.inner().shutdown(how)
            }
            )?
        }
    };
}

/// Implements waits until a socket is ready, and operations of the caller's.
macro_rules! readies {
    ($name:ident) => {
        impl $name {
            /// Waits until the socket is ready for anything of a set. Returns what it is ready for,
            /// but may leave out what has become ready just before this call. Each call asks the
            /// system.
            ///
            /// # Errors
            /// As for an operation that has to wait.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.0.readiness().ready(interest).await
            }

            /// Calls an operation once, such as one of the crate `socket2`. If it returns
            /// `WouldBlock`, operations and waiters in these directions wait for the next event.
            ///
            /// # Errors
            /// Returns the operation's error.
            pub fn try_io<R>(
                &self,
                interest: Interest,
                operation: impl FnOnce() -> io::Result<R>,
            ) -> io::Result<R> {
                self.0.readiness().attempt(interest, operation)
            }

            /// Waits until the socket is [ready](Self::ready) and calls an operation, until it no
            /// longer returns `WouldBlock`.
            ///
            /// # Errors
            /// As for [`ready`](Self::ready), or any other error of the operation.
            pub async fn async_io<R>(
                &self,
                interest: Interest,
                mut operation: impl FnMut() -> io::Result<R>,
            ) -> io::Result<R> {
                loop {
                    self.ready(interest).await?;
                    match self.try_io(interest, &mut operation) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        result => return result,
                    }
                }
            }
        }
    };
    ($name:ident, $wait:ident and $poll:ident for $way:ident, before $operation:literal) => {
        impl $name {
            #[doc = concat!("Waits until [`", $operation, "`](Self::", $operation, ") is worth trying.")]
            ///
            /// An operation that would block says that the next one has to wait. One that is not of
            /// this type must be called in [`try_io`](Self::try_io) for that, or this returns at
            /// once each time.
            ///
            /// # Errors
            /// Returns an error if the executor that serves the descriptor is gone.
            pub async fn $wait(&self) -> io::Result<()> {
                self.0.readiness().known(Way::$way).await
            }

            #[doc = concat!("Polls as [`", stringify!($wait), "`](Self::", stringify!($wait), ") does. Only the last task that polled for this direction is woken.")]
            ///
            /// # Errors
            #[doc = concat!("As for [`", stringify!($wait), "`](Self::", stringify!($wait), ").")]
            #[inline]
            pub fn $poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.0.readiness().poll_known(Way::$way, cx)
            }
        }
    };
}

/// Implements sending and receiving by a datagram socket.
macro_rules! exchanges {
    ($name:ident with $address:ty) => {
        readies!($name);
        readies!($name, readable and poll_recv_ready for Read, before "try_recv");
        readies!($name, writable and poll_send_ready for Write, before "try_send");

        impl $name {
            /// Sends as [`send`](Self::send) does, but does not wait.
            ///
            /// # Errors
            /// As for [`send`](Self::send), or [`WouldBlock`](io::ErrorKind::WouldBlock) if there
            /// is no room.
            #[inline]
            pub fn try_send(&self, message: &[u8]) -> io::Result<usize> {
                self.0.try_io(Interest::WRITABLE, |socket| socket.send(message))
            }

            /// Receives as [`recv`](Self::recv) does, but does not wait.
            ///
            /// # Errors
            /// As for [`recv`](Self::recv), or [`WouldBlock`](io::ErrorKind::WouldBlock) if there
            /// is no message.
            #[inline]
            pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.try_io(Interest::READABLE, |socket| socket.recv(buffer))
            }

            /// Receives as [`recv_from`](Self::recv_from) does, but does not wait.
            ///
            /// # Errors
            /// As for [`try_recv`](Self::try_recv).
            #[inline]
            pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $address)> {
                self.0.try_io(Interest::READABLE, |socket| socket.recv_from(buffer))
            }

            /// Polls as [`send`](Self::send) does. Only the last task that polled to send is woken.
            ///
            /// # Errors
            /// As for [`send`](Self::send).
            #[inline]
            pub fn poll_send(&self, cx: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<usize>> {
                (self.0).poll_by(Way::Write, cx, &mut |socket| socket.send(message))
            }

            /// Polls as [`recv`](Self::recv) does. Only the last task that polled to receive is
            /// woken.
            ///
            /// # Errors
            /// As for [`recv`](Self::recv).
            #[inline]
            pub fn poll_recv(
                &self,
                cx: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                (self.0).poll_by(Way::Read, cx, &mut |socket| socket.recv(buffer))
            }

            /// Polls as [`recv_from`](Self::recv_from) does. Only the last task that polled to
            /// receive is woken.
            ///
            /// # Errors
            /// As for [`recv`](Self::recv).
            #[inline]
            pub fn poll_recv_from(
                &self,
                cx: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<(usize, $address)>> {
                (self.0).poll_by(Way::Read, cx, &mut |socket| socket.recv_from(buffer))
            }

            /// Sends a message to the address that the socket is connected to. The message is sent
            /// as a whole. Returns its length in bytes.
            ///
            /// If the future is dropped before it is ready, nothing has been sent.
            ///
            /// # Errors
            /// Returns the system's error, for example if the message is too long, the socket is
            /// not connected, or the peer does not exist.
            pub async fn send(&self, message: &[u8]) -> io::Result<usize> {
                self.0.write_with(|socket| socket.send(message)).await
            }

            /// Receives the next message, and returns how many of its bytes are in the buffer. The
            /// bytes that do not fit are lost.
            ///
            /// If the future is dropped before it is ready, no message is lost.
            ///
            /// # Errors
            /// Returns the system's error, which may be about an earlier message:
            /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if the connected peer did
            /// not exist.
            ///
            /// On Windows a message that does not fit is an error as well, `WSAEMSGSIZE` (10040).
            /// The buffer then has the beginning of the message, and the rest is lost as on other
            /// systems.
            pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read_with(|socket| socket.recv(buffer)).await
            }

            /// Receives the next message as [`recv`](Self::recv) does, and also returns the address
            /// of its sender.
            ///
            /// # Errors
            /// As for [`recv`](Self::recv).
            pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $address)> {
                self.0.read_with(|socket| socket.recv_from(buffer)).await
            }
        }
    };
}

/// Implements `AsyncRead` for a type and for references to it, so that one task can read while
/// another writes, and the same read into memory that need not be initialised. `counted` says that
/// a short read means that there is no more data, so that the next one waits without a system call.
/// `Registration::poll` says where that would be wrong.
macro_rules! reads {
    ($name:ident, counted: $counted:literal) => {
        reads!(for &$name, $counted);
        reads!(for $name, $counted);
        readies!($name, readable and poll_read_ready for Read, before "try_read");

        impl $name {
            reads_by_name!(self by self.0, counted: $counted);
            reads_to_end!(self by self.0, counted: $counted);

            /// Does what [`poll_read`](AsyncRead::poll_read) does, but does not wait.
            ///
            /// # Errors
            /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if it would have to wait, or
            /// another error of the system.
            #[inline]
            pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.try_io(Interest::READABLE, |mut inner| inner.read(buffer))
            }

            /// Does what [`poll_read_vectored`](AsyncRead::poll_read_vectored) does, but does not
            /// wait.
            ///
            /// # Errors
            /// As for [`try_read`](Self::try_read).
            #[inline]
            pub fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.0.try_io(Interest::READABLE, |mut inner| inner.read_vectored(buffers))
            }

            /// Polls for bytes as `poll_read` does, but into memory that need not be initialised.
            /// Returns the bytes, which are the beginning of `buffer`; none at the end.
            ///
            /// # Errors
            /// Returns the system's error, as a read does.
            ///
            /// # Example
            /// See [`AsyncFd::poll_read_uninit`].
            #[inline]
            pub fn poll_read_uninit<'a>(
                &self,
                cx: &mut Context<'_>,
                buffer: &'a mut [MaybeUninit<u8>],
            ) -> Poll<io::Result<&'a mut [u8]>> {
                let fell_short = short($counted, buffer.len());
                (self.0)
                    .poll_with(Way::Read, cx, |inner| inner.read_uninit(buffer), fell_short)
                    // SAFETY: the read has initialised this part of the buffer.
                    .map_ok(|count| unsafe { initialized(&mut buffer[..count]) })
            }
        }
    };
    (for $name:ty, $counted:literal) => {
        impl AsyncRead for $name {
            transfers! {
                Read, $counted;
                poll_read by Read::read, buffer: &mut [u8], asked buffer.len();
                poll_read_vectored by Read::read_vectored, buffers: &mut [IoSliceMut<'_>],
                    asked buffers.iter().map(|buffer| buffer.len()).sum();
            }
        }
    };
}

/// Implements `AsyncWrite` for a type and for references to it. `counted` is as for `reads`.
macro_rules! writes {
    ($name:ident, counted: $counted:literal, closed by $close:expr) => {
        writes!(for &$name, $counted, $close);
        writes!(for $name, $counted, $close);
        readies!($name, writable and poll_write_ready for Write, before "try_write");

        impl $name {
            writes_by_name!(self by self.0, counted: $counted);

            /// Does what [`poll_write`](AsyncWrite::poll_write) does, but does not wait.
            ///
            /// # Errors
            /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if it would have to wait, or
            /// another error of the system.
            #[inline]
            pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
                self.0.try_io(Interest::WRITABLE, |mut inner| inner.write(bytes))
            }

            /// Does what [`poll_write_vectored`](AsyncWrite::poll_write_vectored) does, but does
            /// not wait.
            ///
            /// # Errors
            /// As for [`try_write`](Self::try_write).
            #[inline]
            pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
                self.0.try_io(Interest::WRITABLE, |mut inner| inner.write_vectored(slices))
            }
        }
    };
    (for $name:ty, $counted:literal, $close:expr) => {
        impl AsyncWrite for $name {
            transfers! {
                Write, $counted;
                poll_write by Write::write, bytes: &[u8], asked bytes.len();
                poll_write_vectored by Write::write_vectored, slices: &[IoSlice<'_>],
                    asked slices.iter().map(|slice| slice.len()).sum();
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                // The types of the standard library have no buffer either.
                Poll::Ready(Ok(()))
            }

            #[inline]
            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(($close)(self.0.inner()))
            }
        }
    };
}

/// Implements methods of a trait, each by the corresponding function of the standard library.
macro_rules! transfers {
    ($way:ident, $counted:literal; $($method:ident by $call:path, $argument:ident: $type:ty, asked $asked:expr;)*) => {$(
        #[inline]
        fn $method(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            $argument: $type,
        ) -> Poll<io::Result<usize>> {
            let fell_short = short($counted, $asked);
            self.0.poll_with(Way::$way, cx, |mut inner| $call(&mut inner, $argument), fell_short)
        }
    )*};
}

wraps!(TcpListener of net::TcpListener, at SocketAddr, of a "host");
accepts!(TcpListener gives TcpStream by tcp::accept, from SocketAddr);

wraps!(TcpStream of net::TcpStream, at SocketAddr, of a "host");
connects!(TcpStream to SocketAddr, ends by Shutdown);
readies!(TcpStream);
reads!(TcpStream, counted: true);
writes!(TcpStream, counted: true, closed by |inner: Inner<'_, net::TcpStream>| closed(inner.shutdown(Shutdown::Write)));

wraps!(UdpSocket of net::UdpSocket, at SocketAddr, of a "host");
connects!(UdpSocket to SocketAddr);
exchanges!(UdpSocket with SocketAddr);

#[cfg(unix)]
const _: () = {
    wraps!(UnixListener of local::UnixListener, at local::SocketAddr);
    accepts!(UnixListener gives UnixStream by unix::accept, from local::SocketAddr);

    wraps!(UnixStream of local::UnixStream, at local::SocketAddr);
    connects!(UnixStream to local::SocketAddr, ends by Shutdown);
    readies!(UnixStream);
    // Reads are not counted, because a read that ends behind a message with descriptors is short
    // although there is more data.
    reads!(UnixStream, counted: false);
    writes!(UnixStream, counted: true, closed by |inner: &local::UnixStream| closed(inner.shutdown(Shutdown::Write)));

    wraps!(UnixDatagram of local::UnixDatagram, at local::SocketAddr);
    connects!(UnixDatagram to local::SocketAddr, ends by Shutdown);
    exchanges!(UnixDatagram with local::SocketAddr);

    // Not counted, because a read from a packet pipe may be short although there is more data.
    holds!(PipeReader);
    readies!(PipeReader);
    reads!(PipeReader, counted: false);
    holds!(PipeWriter);
    readies!(PipeWriter);
    writes!(PipeWriter, counted: false, closed by |_| Ok(()));
};
