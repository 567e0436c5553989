//! tokio's runtimes, with their drivers.

use std::{io, net::SocketAddr, time::Duration};

#[cfg(unix)]
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    time,
};

use super::{Driven, Reads, Writes};
use crate::{locals::tokio::DrivenTokioLocal, pools::tokio::DrivenTokioPool};

pub struct Io<T>(T);

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

async fn end(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown().await
}

#[cfg(unix)]
fn pipe() -> io::Result<(Receiver, Sender)> {
    let (writer, reader) = tokio::net::unix::pipe::pipe()?;
    Ok((reader, writer))
}

driven!(DrivenTokioPool, Receiver, Sender);
driven!(DrivenTokioLocal, Receiver, Sender);
