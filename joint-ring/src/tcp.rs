//! [`TcpListener`] and [`TcpStream`].

use std::{
    fmt, io,
    net::{self, SocketAddr, ToSocketAddrs},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd},
    sync::Arc,
};

use io_uring::{opcode, squeue::Entry, types::Fd};
use socket2::{Domain, SockAddr, SockAddrStorage, Socket, Type};

use crate::{
    block::Data,
    buffer::{Buffer, BufferMut},
    input::{self, Input, is_cancelled},
    ring::{Request, started},
    transfer::{self, Place},
    turns::Turns,
};

/// A TCP socket that waits for connections.
///
/// # Example
/// ```
/// use joint_ring::{Ring, TcpListener, TcpStream};
///
/// # fn main() -> std::io::Result<()> {
/// # if Ring::new().is_err() { return Ok(()) }
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.get_ref().local_addr()?;
/// let echo = joint_executor::spawn(async move {
///     let (stream, _) = listener.accept().await?;
///     let (count, buffer) = stream.read(vec![0; 64]).await;
///     assert_eq!(count?, 4);
///     stream.write_all(buffer).await.0
/// });
/// joint_executor::block_on(async {
///     let stream = TcpStream::connect(address).await?;
///     stream.write_all("ping").await.0?;
///     let (count, buffer) = stream.read(vec![0; 64]).await;
///     assert_eq!((count?, &buffer[..]), (4, &b"ping"[..]));
///     echo.await
/// })
/// # }
/// ```
pub struct TcpListener {
    socket: Arc<net::TcpListener>,
    accepts: Turns<Request<Accept>>,
}

impl TcpListener {
    /// Makes a listener at the first address that can be bound. Names are resolved by a call that
    /// blocks.
    ///
    /// # Errors
    /// The system's error.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        net::TcpListener::bind(address)?.try_into()
    }

    /// Accepts a connection. If several tasks call this, they accept one after the other.
    ///
    /// # Cancellation
    /// Dropping the future loses no connection. The kernel goes on accepting one, which the next
    /// call returns. It is closed if the listener is dropped before that.
    ///
    /// # Errors
    /// The system's error, and those of [`Ring::new`](crate::Ring::new).
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let mut turn = self.accepts.turn().await;
        loop {
            let is_kept = turn.kept.is_some();
            let accept = (turn.kept).get_or_insert_with(|| started(Accept::new(&self.socket)));
            let accepted = accept.await;
            turn.kept = None;
            match accepted {
                // The thread that it was started on has ended.
                Err(error) if is_kept && is_cancelled(&error) => {}
                accepted => return accepted,
            }
        }
    }

    /// Returns the socket of the standard library. Its methods block.
    pub fn get_ref(&self) -> &net::TcpListener {
        &self.socket
    }
}

/// A TCP connection. It can be read and written at once, by any number of tasks. Those that read
/// take turns.
///
/// # Errors
/// Each operation can return the system's error, and those of [`Ring::new`](crate::Ring::new).
pub struct TcpStream {
    socket: Arc<net::TcpStream>,
    reads: Turns<Input>,
}

impl TcpStream {
    /// Connects to an address.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        let address = SockAddr::from(address);
        let stream = started(Connect { socket, address }).await?;
        Ok(Self::new(stream))
    }

    fn new(socket: net::TcpStream) -> Self {
        Self {
            socket: Arc::new(socket),
            reads: Turns::new(),
        }
    }

    /// Reads once, into all of the buffer's memory. Returns how many bytes were read, which is 0 if
    /// the peer has ended its side, and if the buffer has no memory.
    ///
    /// # Cancellation
    /// Dropping the future loses no bytes. The kernel goes on reading into the buffer, which the
    /// stream keeps until the next call, or until it is dropped. The next call returns these bytes,
    /// and copies them.
    pub async fn read<B: BufferMut>(&self, buffer: B) -> (io::Result<usize>, B) {
        input::read(&self.reads, &self.socket, buffer).await
    }

    /// Writes once. Returns how many of the buffer's bytes were written.
    ///
    /// # Cancellation
    /// Dropping the future cancels the write. Some of the bytes may have been written.
    pub async fn write<B: Buffer>(&self, buffer: B) -> (io::Result<usize>, B) {
        transfer::write(Place::Stream(self.socket.clone()), buffer, 0).await
    }

    /// Writes all of the buffer's bytes.
    ///
    /// # Cancellation
    /// As for [`write`](TcpStream::write).
    ///
    /// # Errors
    /// Some of the bytes may have been written.
    pub async fn write_all<B: Buffer>(&self, buffer: B) -> (io::Result<()>, B) {
        transfer::write_all(Place::Stream(self.socket.clone()), buffer).await
    }

    /// Returns the socket of the standard library, for its options, addresses and `shutdown`. Its
    /// methods that read and write block.
    pub fn get_ref(&self) -> &net::TcpStream {
        &self.socket
    }
}

/// Makes a socket of this package from one of the standard library, and the other way round.
macro_rules! sockets {
    ($($ours:ident: $std:ty, $turns:ident;)*) => {$(
        impl TryFrom<$std> for $ours {
            type Error = io::Error;

            /// Takes over the socket, and sets it to blocking: on a ring the kernel waits, and
            /// would refuse to if the socket did.
            fn try_from(socket: $std) -> io::Result<Self> {
                socket.set_nonblocking(false)?;
                Ok(Self {
                    socket: Arc::new(socket),
                    $turns: Turns::new(),
                })
            }
        }

        impl AsFd for $ours {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.socket.as_fd()
            }
        }

        impl fmt::Debug for $ours {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($ours)).field(&self.socket).finish()
            }
        }
    )*};
}

sockets! {
    TcpListener: net::TcpListener, accepts;
    TcpStream: net::TcpStream, reads;
}

struct Accept {
    listener: Arc<net::TcpListener>,
    /// The kernel writes the peer's address here, and its length.
    address: SockAddrStorage,
    length: libc::socklen_t,
}

impl Accept {
    fn new(listener: &Arc<net::TcpListener>) -> Self {
        let address = SockAddrStorage::zeroed();
        Self {
            listener: listener.clone(),
            length: address.size_of(),
            address,
        }
    }
}

// SAFETY: the address and its length are parts of the value.
unsafe impl Data for Accept {
    type Entry = Entry;
    type Output = io::Result<(TcpStream, SocketAddr)>;

    fn entry(&mut self) -> Entry {
        let (address, length) = (&raw mut self.address, &raw mut self.length);
        opcode::Accept::new(Fd(self.listener.as_raw_fd()), address.cast(), length)
            .flags(libc::SOCK_CLOEXEC)
            .build()
    }

    fn output(self, answer: io::Result<u32>) -> Self::Output {
        // SAFETY: the kernel has opened it for this operation.
        let stream = answer.map(|fd| unsafe { net::TcpStream::from_raw_fd(fd as i32) })?;
        // SAFETY: the kernel has written an address of this length.
        let peer = unsafe { SockAddr::new(self.address, self.length) };
        let peer = peer.as_socket().ok_or(io::ErrorKind::Unsupported)?;
        Ok((TcpStream::new(stream), peer))
    }
}

struct Connect {
    socket: Socket,
    /// The kernel has a pointer to it.
    address: SockAddr,
}

// SAFETY: the address is a part of the value.
unsafe impl Data for Connect {
    type Entry = Entry;
    type Output = io::Result<net::TcpStream>;

    fn entry(&mut self) -> Entry {
        let (start, length) = (self.address.as_ptr(), self.address.len());
        opcode::Connect::new(Fd(self.socket.as_raw_fd()), start.cast(), length).build()
    }

    fn output(self, answer: io::Result<u32>) -> Self::Output {
        answer.map(|_| self.socket.into())
    }
}
