//! tokio's runtimes, with their drivers.

use std::{future::Future, io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{self, Sleep},
};

use super::{Driven, Reads, Writes};
use crate::support::{locals::tokio::DrivenTokioLocal, pools::tokio::DrivenTokioPool};

pub(crate) struct Io<T>(T);

impl<T: AsyncRead + Send + Unpin> Reads for Io<T> {
    async fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room).await
    }
}

impl<T: AsyncWrite + Send + Unpin> Writes for Io<T> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).await
    }
}

macro_rules! driven {
    ($runtime:ty) => {
        impl Driven for $runtime {
            const ZERO_SLEEPS_FOR_ONE: usize = 1_000;

            type Sleep = Sleep;
            type Listener = TcpListener;
            type Stream = Io<TcpStream>;
            #[cfg(unix)]
            type Reader = Io<tokio::net::unix::pipe::Receiver>;
            #[cfg(unix)]
            type Writer = Io<tokio::net::unix::pipe::Sender>;

            fn sleep(duration: Duration) -> Sleep {
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

            #[cfg(unix)]
            fn pipe() -> io::Result<(Self::Reader, Self::Writer)> {
                let (writer, reader) = tokio::net::unix::pipe::pipe()?;
                Ok((Io(reader), Io(writer)))
            }
        }
    };
}

driven!(DrivenTokioPool);
driven!(DrivenTokioLocal);
