//! Where scenarios run, and what they are made of.

use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use joint_executor::io::{TcpListener, TcpStream};

use crate::prelude::*;

/// Runs a scenario on a plain thread, on one worker and on two.
pub(crate) fn everywhere<F>(scenario: impl Fn() -> F + Send + 'static)
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    everywhere_boxed(Box::new(move || Box::pin(scenario())));
}

fn everywhere_boxed(scenario: Box<dyn Fn() -> Boxed<io::Result<()>> + Send>) {
    ends(move || {
        block_on(scenario()).unwrap();
        for workers in [1, 2] {
            let executor = executor(workers);
            block_on(executor.spawn(scenario())).unwrap();
        }
    });
}

/// Two ends of a TCP connection.
pub(crate) async fn connected() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (one, (other, peer)) =
        future::try_zip(TcpStream::connect(address), listener.accept()).await?;
    assert_eq!(one.local_addr()?, peer);
    Ok((one, other))
}

/// Polls once, and asserts that it waits. Whatever it waits for comes later than this.
pub(crate) async fn waits<T>(future: &mut (impl Future<Output = T> + Unpin)) {
    assert!(
        future::poll_once(future).await.is_none(),
        "it does not wait"
    );
}

/// Bytes that do not repeat at any power of two.
pub(crate) fn bytes(length: usize) -> Vec<u8> {
    let mut bytes = Vec::from_iter(0..251).repeat(length.div_ceil(251));
    bytes.truncate(length);
    bytes
}

/// Writes some bytes and closes.
pub(crate) async fn write_and_close(
    mut to: impl AsyncWrite + Unpin,
    bytes: &[u8],
) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.close().await
}

/// Reads to the end.
pub(crate) async fn read_all(mut from: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// Whoever waits to read when the other end writes and goes gets the bytes, then the end.
#[cfg(unix)]
pub(crate) async fn data_then_end(
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut buffer = [0; 64];
    let length = {
        let mut read = pin!(reader.read(&mut buffer));
        waits(&mut read).await;
        writer.write_all(b"last").await?;
        drop(writer);
        read.await?
    };
    assert_eq!(&buffer[..length], b"last");
    assert_eq!(reader.read(&mut buffer).await?, 0);
    assert_eq!(reader.read(&mut buffer).await?, 0, "the end stays");
    Ok(())
}

/// Whoever waits to read when the other end goes gets the end.
pub(crate) async fn end_while_waiting(
    mut reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite,
) -> io::Result<()> {
    let mut buffer = [0; 64];
    let mut read = pin!(reader.read(&mut buffer));
    waits(&mut read).await;
    drop(writer);
    assert_eq!(read.await?, 0);
    Ok(())
}
