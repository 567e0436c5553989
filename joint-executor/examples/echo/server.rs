//! The server: it accepts in the task that calls it, and serves each connection in a task of its
//! own.

use std::io;

use joint_executor::JoinSet;
use joint_executor::io::{TcpListener, TcpStream};

/// Accepts `connections` connections, waits until each is closed, and returns how many bytes were
/// echoed.
pub(crate) async fn serve(listener: TcpListener, connections: u64) -> io::Result<u64> {
    let mut open = JoinSet::new();
    for _ in 0..connections {
        let (stream, _) = listener.accept().await?;
        open.spawn(echo(stream));
    }
    let mut bytes = 0;
    for echoed in open.join_all().await {
        bytes += echoed?;
    }
    Ok(bytes)
}

async fn echo(stream: TcpStream) -> io::Result<u64> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 16 << 10];
    let mut bytes = 0;
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(bytes),
            read => {
                stream.write_all(&buffer[..read]).await?;
                bytes += read as u64;
            }
        }
    }
}
