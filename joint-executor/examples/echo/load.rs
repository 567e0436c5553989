//! The clients.

use std::io;
use std::net::SocketAddr;

use futures_lite::future::try_zip;
use joint_executor::JoinSet;
use joint_executor::io::TcpStream;

/// The size of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) connections: u64,
    /// The number of messages of each connection.
    pub(crate) messages: u64,
    /// The size of each message in bytes.
    pub(crate) size: usize,
}

/// Puts the load on `server`.
pub(crate) async fn put(load: Load, server: SocketAddr) -> io::Result<()> {
    let mut clients = JoinSet::new();
    for client in 0..load.connections {
        clients.spawn(converse(load, client, server));
    }
    // The first client that fails ends the others: they are cancelled when the set is dropped.
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

async fn converse(load: Load, client: u64, server: SocketAddr) -> io::Result<()> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let mut sent = vec![0; load.size];
    let mut echo = vec![0; load.size];
    for message in 0..load.messages {
        fill(&mut sent, client, message);
        // Sends and receives at once: the echo of a large message begins before all of the message
        // is sent, and must be read.
        let (reader, writer) = (&stream, &stream);
        try_zip(writer.write_all(&sent), reader.read_exact(&mut echo)).await?;
        if echo != sent {
            return Err(io::Error::other(format!(
                "connection {client}: the echo of message {message} is not what was sent"
            )));
        }
    }
    Ok(())
}

/// Contents that differ from those of the previous message, and from other clients' messages.
fn fill(message: &mut [u8], client: u64, number: u64) {
    let first = client.wrapping_mul(31).wrapping_add(number);
    for (byte, value) in message.iter_mut().zip(first..) {
        *byte = (value % 251) as u8;
    }
}
