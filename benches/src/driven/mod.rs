//! [`Driven`]: what a row needs from a runtime that also waits for times and descriptors.

/// Implements [`Driven`] with a module's `time`, `TcpListener`, `TcpStream` and `UdpSocket`, which
/// joint and tokio have alike, and with its [`Io`], `end` and `pipe`.
macro_rules! driven {
    ($runtime:ty, $reader:ty, $writer:ty) => {
        impl Driven for $runtime {
            type Sleep = time::Sleep;
            type Listener = TcpListener;
            type Stream = Io<TcpStream>;
            type Datagrams = UdpSocket;
            #[cfg(unix)]
            type Reader = Io<$reader>;
            #[cfg(unix)]
            type Writer = Io<$writer>;

            fn sleep(duration: Duration) -> time::Sleep {
                time::sleep(duration)
            }

            async fn timeout<F>(limit: Duration, future: F) -> Option<F::Output>
            where
                F: Future<Output: Send> + Send,
            {
                time::timeout(limit, future).await.ok()
            }

            async fn listen() -> io::Result<(TcpListener, SocketAddr)> {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let address = listener.local_addr()?;
                Ok((listener, address))
            }

            async fn accept(listener: &mut TcpListener) -> io::Result<Self::Stream> {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Io(stream))
            }

            async fn connect(address: SocketAddr) -> io::Result<Self::Stream> {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Ok(Io(stream))
            }

            async fn rest(stream: &mut Self::Stream, bytes: &mut Vec<u8>) -> io::Result<usize> {
                stream.0.read_to_end(bytes).await
            }

            async fn end(stream: &mut Self::Stream) -> io::Result<()> {
                end(&mut stream.0).await
            }

            async fn datagrams() -> io::Result<(UdpSocket, SocketAddr)> {
                let socket = UdpSocket::bind("127.0.0.1:0").await?;
                let address = socket.local_addr()?;
                Ok((socket, address))
            }

            async fn answer(socket: &mut UdpSocket, room: &mut [u8]) -> io::Result<usize> {
                let (count, client) = socket.recv_from(room).await?;
                socket.send_to(&room[..count], client).await
            }

            #[cfg(unix)]
            fn pipe() -> io::Result<(Self::Reader, Self::Writer)> {
                let (reader, writer) = pipe()?;
                Ok((Io(reader), Io(writer)))
            }
        }
    };
}

mod joint;
pub mod smol;
mod tokio;

use std::{io, net::SocketAddr, time::Duration};

use crate::runtime::Runtime;

/// A runtime with timers and descriptors. Call its methods inside a task.
pub trait Driven: Runtime {
    /// The future that [`sleep`](Self::sleep) returns.
    type Sleep: Future<Output: Send> + Send + 'static;
    /// Accepts connections over TCP.
    type Listener: Send + 'static;
    /// A connection over TCP.
    type Stream: Reads + Writes + Send + 'static;
    /// A UDP socket.
    type Datagrams: Send + 'static;
    /// The end of a pipe that is read.
    #[cfg(unix)]
    type Reader: Reads + Send + 'static;
    /// The end of a pipe that is written.
    #[cfg(unix)]
    type Writer: Writes + Send + 'static;

    /// Waits until the time has passed.
    fn sleep(duration: Duration) -> Self::Sleep;

    /// Returns the output of a future, or `None` if the time passes first.
    fn timeout<F>(limit: Duration, future: F) -> impl Future<Output = Option<F::Output>> + Send
    where
        F: Future<Output: Send> + Send;

    /// Listens at a port of the loopback that the system chooses.
    fn listen() -> impl Future<Output = io::Result<(Self::Listener, SocketAddr)>> + Send;

    /// Waits for the next connection. It sends small messages at once.
    fn accept(
        listener: &mut Self::Listener,
    ) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Connects to a listener. The connection sends small messages at once.
    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Appends what a connection sends until its end.
    fn rest(
        stream: &mut Self::Stream,
        bytes: &mut Vec<u8>,
    ) -> impl Future<Output = io::Result<usize>> + Send;

    /// Ends the writing direction of a connection.
    fn end(stream: &mut Self::Stream) -> impl Future<Output = io::Result<()>> + Send;

    /// Binds a UDP socket to a port of the loopback that the system chooses.
    fn datagrams() -> impl Future<Output = io::Result<(Self::Datagrams, SocketAddr)>> + Send;

    /// Waits for a datagram, sends it back, and returns its length.
    fn answer(
        socket: &mut Self::Datagrams,
        room: &mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send;

    /// Makes a pipe.
    #[cfg(unix)]
    fn pipe() -> io::Result<(Self::Reader, Self::Writer)>;
}

/// A source of bytes.
pub trait Reads {
    /// Reads at least one byte, and returns how many. Returns 0 at the end.
    fn read(&mut self, room: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;

    /// Fills the buffer. Returns false if the stream ends first.
    fn fill(&mut self, room: &mut [u8]) -> impl Future<Output = io::Result<bool>> + Send
    where
        Self: Send,
    {
        async {
            let mut filled = 0;
            while filled < room.len() {
                match self.read(&mut room[filled..]).await? {
                    0 => return Ok(false),
                    count => filled += count,
                }
            }
            Ok(true)
        }
    }
}

/// A sink of bytes.
pub trait Writes {
    /// Writes at least one byte, and returns how many.
    fn write(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> + Send;

    /// Writes all bytes.
    fn write_all(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send
    where
        Self: Send,
    {
        async {
            let mut written = 0;
            while written < bytes.len() {
                written += self.write(&bytes[written..]).await?;
            }
            Ok(())
        }
    }
}

/// Reads and writes by the traits of `futures-io`.
pub struct Io<T>(
    /// The stream itself.
    pub T,
);

impl<T: futures_lite::AsyncRead + Send + Unpin> Reads for Io<T> {
    async fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        futures_lite::AsyncReadExt::read(&mut self.0, room).await
    }
}

impl<T: futures_lite::AsyncWrite + Send + Unpin> Writes for Io<T> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        futures_lite::AsyncWriteExt::write(&mut self.0, bytes).await
    }
}
