//! [`Driven`]: what a row needs of a runtime that waits for times and descriptors too.

/// [`Driven`] by a module's `time`, `TcpListener`, `TcpStream` and `UdpSocket`, which joint and
/// tokio have alike, and by its [`Io`] and `pipe`.
macro_rules! driven {
    ($runtime:ty, $zero_sleeps_for_one:expr, $reader:ty, $writer:ty) => {
        impl Driven for $runtime {
            const ZERO_SLEEPS_FOR_ONE: usize = $zero_sleeps_for_one;

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
pub(crate) mod smol;
mod tokio;

use std::{future::Future, io, net::SocketAddr, time::Duration};

use crate::support::runtime::Runtime;

/// Each method is to be called in a task.
pub(crate) trait Driven: Runtime {
    /// Of how many turns of a loop of `sleep(0)` only one is made, and the time taken for that of all: where one takes a millisecond.
    const ZERO_SLEEPS_FOR_ONE: usize = 1;

    type Sleep: Future<Output: Send> + Send + 'static;
    type Listener: Send + 'static;
    type Stream: Reads + Writes + Send + 'static;
    type Datagrams: Send + 'static;
    #[cfg(unix)]
    type Reader: Reads + Send + 'static;
    #[cfg(unix)]
    type Writer: Writes + Send + 'static;

    fn sleep(duration: Duration) -> Self::Sleep;

    /// None: the time was over first.
    fn timeout<F>(limit: Duration, future: F) -> impl Future<Output = Option<F::Output>> + Send
    where
        F: Future<Output: Send> + Send;

    /// At a port of the loopback that the system chooses.
    fn listen() -> impl Future<Output = io::Result<(Self::Listener, SocketAddr)>> + Send;

    fn accept(
        listener: &mut Self::Listener,
    ) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// At a port of the loopback that the system chooses.
    fn datagrams() -> impl Future<Output = io::Result<(Self::Datagrams, SocketAddr)>> + Send;

    /// Waits for a datagram, and sends it back. Comes with its length.
    fn answer(
        socket: &mut Self::Datagrams,
        room: &mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send;

    #[cfg(unix)]
    fn pipe() -> io::Result<(Self::Reader, Self::Writer)>;
}

/// What is read, at least one byte at once.
pub(crate) trait Reads {
    fn read(&mut self, room: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;

    /// False: the end came first.
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

/// What is written, at least one byte at once.
pub(crate) trait Writes {
    fn write(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> + Send;

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

/// What is read and written by the traits of `futures-io`.
pub(crate) struct Io<T>(T);

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
