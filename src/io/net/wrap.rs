//! What the types have in common, as macros: with a trait, whoever calls a method would have to import it.

/// What every socket has: the standard library's type, its address, `Debug`, and the descriptor.
macro_rules! wraps {
    ($name:ident of $inner:ty, at $address:ty) => {
        impl $name {
            /// The address that it is bound to.
            ///
            /// # Errors
            /// What the system says.
            pub fn local_addr(&self) -> std::io::Result<$address> {
                self.get_ref().local_addr()
            }

            /// The standard library's type, for the options that are set on it. It has to stay non-blocking.
            pub fn get_ref(&self) -> &$inner {
                self.0.get_ref()
            }

            /// Takes the standard library's type back. It stays non-blocking.
            ///
            /// # Errors
            /// What the system says when it is asked to look after it no longer.
            pub fn into_std(self) -> std::io::Result<$inner> {
                self.0.into_inner()
            }
        }

        /// Makes it non-blocking.
        impl TryFrom<$inner> for $name {
            type Error = std::io::Error;

            fn try_from(inner: $inner) -> std::io::Result<Self> {
                crate::io::AsyncFd::new(inner).map(Self)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.get_ref().fmt(f)
            }
        }

        holds!($name);

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $name {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                self.get_ref().as_socket()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawSocket for $name {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                self.get_ref().as_raw_socket()
            }
        }
    };
}

/// Access to a Unix descriptor.
macro_rules! holds {
    ($name:ident) => {
        #[cfg(unix)]
        impl std::os::fd::AsFd for $name {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.0.get_ref().as_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $name {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.0.get_ref().as_raw_fd()
            }
        }
    };
}

/// A listener's accepts.
macro_rules! accepts {
    ($name:ident gives $stream:ident of $inner:ty, from $address:ty) => {
        impl $name {
            /// Waits for a connection, and takes it.
            ///
            /// Dropped before it is ready, it has taken none. Several tasks can accept from one listener.
            ///
            /// # Errors
            /// Those of the system, and none ends the listener: after each it can accept again.
            ///
            /// * [`ConnectionAborted`](std::io::ErrorKind::ConnectionAborted): the peer has gone before its turn. Accept again.
            /// * No descriptor is free (`EMFILE`, `ENFILE`), or no memory: the connection stays in the listener's queue, and accepting
            ///   again at once fails again at once. Close something, or sleep before the next try.
            pub async fn accept(&self) -> std::io::Result<($stream, $address)> {
                Self::accepted(self.0.read_with(|listener| listener.accept()).await?)
            }

            /// As [`accept`](Self::accept), for those who poll by hand, and for streams: `poll_fn(|cx| listener.poll_accept(cx).map(Some))`.
            /// Only the last task that polled is woken.
            ///
            /// # Errors
            /// As [`accept`](Self::accept).
            pub fn poll_accept(
                &self,
                cx: &mut core::task::Context<'_>,
            ) -> core::task::Poll<std::io::Result<($stream, $address)>> {
                let accepted = self.0.poll_read_with(cx, |listener| listener.accept());
                accepted.map(|accepted| Self::accepted(accepted?))
            }

            fn accepted(
                (stream, peer): ($inner, $address),
            ) -> std::io::Result<($stream, $address)> {
                // One system call, where `try_from` takes two.
                stream.set_nonblocking(true)?;
                let stream = crate::io::AsyncFd::new_nonblocking(stream)?;
                Ok(($stream(stream), peer))
            }
        }
    };
}

/// What a socket has that is connected, or can be.
macro_rules! connects {
    ($name:ident to $address:ty) => {
        impl $name {
            /// The address that it is connected to.
            ///
            /// # Errors
            /// What the system says: [`NotConnected`](std::io::ErrorKind::NotConnected) when it is not.
            pub fn peer_addr(&self) -> std::io::Result<$address> {
                self.get_ref().peer_addr()
            }
        }
    };
}

/// How what is sent or received comes to an end.
macro_rules! ends {
    ($name:ident) => {
        impl $name {
            /// Ends one direction or both, for all who use the socket: the peer reads to the end, whoever writes here gets an error.
            ///
            /// # Errors
            /// What the system says: [`NotConnected`](std::io::ErrorKind::NotConnected) when there is no peer, on some systems also
            /// when the peer has ended it.
            pub fn shutdown(&self, how: std::net::Shutdown) -> std::io::Result<()> {
                self.get_ref().shutdown(how)
            }
        }
    };
}

/// A datagram socket's messages.
macro_rules! exchanges {
    ($name:ident with $address:ty) => {
        impl $name {
            /// Sends a message to the address that the socket is connected to. It is sent whole; how many bytes it has comes back.
            ///
            /// Dropped before it is ready, it has sent nothing.
            ///
            /// # Errors
            /// What the system says: that the message is too long, that the socket is not connected, that the peer is not there.
            pub async fn send(&self, message: &[u8]) -> std::io::Result<usize> {
                self.0.write_with(|socket| socket.send(message)).await
            }

            /// Receives the next message, and says how many bytes of it are in the buffer. What does not fit is lost.
            ///
            /// Dropped before it is ready, it has taken none.
            ///
            /// # Errors
            /// What the system says, also of what was sent before:
            /// [`ConnectionRefused`](std::io::ErrorKind::ConnectionRefused) when a connected peer was not there.
            ///
            /// On Windows it is an error too if the message does not fit: `WSAEMSGSIZE`, 10040. The
            /// beginning of the message is in the buffer then, and the rest is lost as elsewhere.
            pub async fn recv(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
                self.0.read_with(|socket| socket.recv(buffer)).await
            }

            /// As [`recv`](Self::recv), and says who sent the message.
            ///
            /// # Errors
            /// As [`recv`](Self::recv).
            pub async fn recv_from(&self, buffer: &mut [u8]) -> std::io::Result<(usize, $address)> {
                self.0.read_with(|socket| socket.recv_from(buffer)).await
            }
        }
    };
}

/// `AsyncRead` of a type and of references to it, so that one task can read while another writes. `by` is what reads, from the `AsyncFd`.
macro_rules! reads {
    ($name:ident by $by:expr) => {
        reads!(for &$name, $by);
        reads!(for $name, $by);
    };
    (for $name:ty, $by:expr) => {
        impl futures_io::AsyncRead for $name {
            forwards! {
                $by;
                poll_read(buffer: &mut [u8]) -> usize;
                poll_read_vectored(buffers: &mut [std::io::IoSliceMut<'_>]) -> usize;
            }
        }
    };
}

/// `AsyncWrite` of a type and of references to it. `by` is what writes, from the `AsyncFd`.
macro_rules! writes {
    ($name:ident by $by:expr, closed by $close:expr) => {
        writes!(for &$name, $by, $close);
        writes!(for $name, $by, $close);
    };
    (for $name:ty, $by:expr, $close:expr) => {
        impl futures_io::AsyncWrite for $name {
            forwards! {
                $by;
                poll_write(bytes: &[u8]) -> usize;
                poll_write_vectored(slices: &[std::io::IoSlice<'_>]) -> usize;
                poll_flush() -> ();
            }

            fn poll_close(
                self: core::pin::Pin<&mut Self>,
                _: &mut core::task::Context<'_>,
            ) -> core::task::Poll<std::io::Result<()>> {
                core::task::Poll::Ready(($close)(self.0.get_ref()))
            }
        }
    };
}

/// Methods of a trait that another type has, too.
macro_rules! forwards {
    ($by:expr; $($method:ident($($argument:ident: $type:ty)?) -> $result:ty;)*) => {$(
        #[inline]
        fn $method(
            self: core::pin::Pin<&mut Self>,
            cx: &mut core::task::Context<'_>,
            $($argument: $type)?
        ) -> core::task::Poll<std::io::Result<$result>> {
            let mut by = ($by)(&self.0);
            core::pin::Pin::new(&mut by).$method(cx $(, $argument)?)
        }
    )*};
}
