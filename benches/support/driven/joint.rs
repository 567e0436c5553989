//! joint's executor, with its driver.

use std::{future::Future, io, net::SocketAddr, time::Duration};

use joint::{
    io::{TcpListener, TcpStream},
    time::{self, Sleep},
};

use super::{Driven, Io};
use crate::support::pools::joint::Joint;

impl Driven for Joint {
    type Sleep = Sleep;
    type Listener = TcpListener;
    type Stream = Io<TcpStream>;
    #[cfg(unix)]
    type Reader = Io<joint::io::PipeReader>;
    #[cfg(unix)]
    type Writer = Io<joint::io::PipeWriter>;

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
        let (reader, writer) = joint::io::pipe()?;
        Ok((Io(reader), Io(writer)))
    }
}
