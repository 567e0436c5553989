//! One program on real sockets and on simulated ones, with the same result.

use std::fmt::Debug;

use joint_executor::io::{TcpListener, TcpStream, UdpSocket};

use crate::prelude::*;

/// The events, without addresses.
type Log = Vec<String>;

fn log(all: &mut Log, result: io::Result<impl Debug>) {
    all.push(match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?}", error.kind()),
    });
}

async fn echo(listener: TcpListener) -> io::Result<u64> {
    let (stream, _) = listener.accept().await?;
    let copied = futures_lite::io::copy(&stream, &mut &stream).await?;
    (&stream).close().await?;
    Ok(copied)
}

async fn streams(all: &mut Log) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    log(all, TcpListener::bind(address).await.map(drop));
    let server = spawn(echo(listener));
    let stream = TcpStream::connect(address).await?;
    log(all, stream.peer_addr().map(|peer| peer == address));
    stream.set_nodelay(true)?;
    log(all, stream.nodelay());
    stream.set_ttl(17)?;
    log(all, stream.ttl());
    stream.write_all(b"echo").await?;
    let mut buffer = [0; 4];
    log(all, stream.peek(&mut buffer[..1]).await);
    stream.read_exact(&mut buffer).await?;
    log(all, Ok(buffer));
    stream.shutdown(Shutdown::Write)?;
    log(all, stream.write(b"x").await);
    log(all, stream.read(&mut buffer).await);
    log(all, server.await);
    log(all, TcpStream::connect(address).await.map(drop));
    log(all, TcpListener::bind(address).await.map(drop));
    Ok(())
}

async fn datagrams(all: &mut Log) -> io::Result<()> {
    let one = UdpSocket::bind("127.0.0.1:0").await?;
    let other = UdpSocket::bind(("127.0.0.1", 0)).await?;
    let (own, peer) = (one.local_addr()?, other.local_addr()?);
    log(all, UdpSocket::bind(own).await.map(drop));
    log(all, one.peer_addr());
    // The kind of this error differs.
    log(all, Ok(one.send(b"x").await.is_err()));
    log(all, one.send_to(b"first", peer).await);
    let mut buffer = [0; 8];
    log(all, other.peek(&mut buffer).await);
    let (length, from) = other.recv_from(&mut buffer).await?;
    log(all, Ok((length, from == own)));
    other.connect(own).await?;
    log(all, Ok(other.peer_addr()? == own));
    log(all, other.send(b"second").await);
    let (length, from) = one.peek_from(&mut buffer).await?;
    log(all, Ok((length, from == peer)));
    log(all, one.recv(&mut buffer[..3]).await);
    log(all, Ok(&buffer[..3]));
    drop(one);
    other.send(b"third").await?;
    sleep(std::time::Duration::from_millis(20)).await;
    log(all, other.recv(&mut buffer).await);
    Ok(())
}

async fn run() -> io::Result<Log> {
    let mut all = Vec::new();
    streams(&mut all).await?;
    datagrams(&mut all).await?;
    spawn(async { streams(&mut Vec::new()).await }).await?;
    Ok(all)
}

#[test]
fn one_program_runs_on_real_and_on_simulated_sockets() {
    let real = joint::block_on(run()).unwrap();
    for seed in 0..50 {
        let simulated = sim::run(seed, run()).unwrap();
        // Elsewhere the system has errors of its own.
        if cfg!(target_os = "linux") {
            assert_eq!(simulated, real);
        }
    }
}
