//! Many connections at once.

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use joint_executor::io::{TcpListener, TcpStream};

use super::support::{echo, everywhere};
use crate::prelude::*;

const MANY: usize = 200;
const ROUNDS: usize = 20;

async fn serve(listener: TcpListener) -> io::Result<usize> {
    let mut servers = Vec::new();
    for _ in 0..MANY {
        let (stream, _) = listener.accept().await?;
        servers.push(joint_executor::spawn(echo(stream)));
    }
    let served = servers.len();
    for server in servers {
        server.await?;
    }
    Ok(served)
}

/// Each message is another's neither by connection nor by round.
async fn ask(address: std::net::SocketAddr, which: usize) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    for round in 0..ROUNDS {
        let message = format!("{which}:{round};").repeat(50);
        stream.write_all(message.as_bytes()).await?;
        let mut answer = vec![0; message.len()];
        stream.read_exact(&mut answer).await?;
        assert_eq!(answer, message.as_bytes());
    }
    Ok(())
}

async fn all() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = joint_executor::spawn(serve(listener));
    let clients: Vec<_> = (0..MANY)
        .map(|which| joint_executor::spawn(ask(address, which)))
        .collect();
    for client in clients {
        client.await?;
    }
    assert_eq!(server.await?, MANY);
    Ok(())
}

#[test]
fn two_hundred_connections_are_served() {
    everywhere(all);
}
