//! One program of datagrams on real sockets and on simulated ones, with the same result.
//! `dialogues` does that with streams.

use std::fmt::Debug;

use joint_executor::io::UdpSocket;

use crate::prelude::*;

/// The events, without addresses.
type Log = Vec<String>;

fn log(all: &mut Log, result: io::Result<impl Debug>) {
    all.push(match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?}", error.kind()),
    });
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
    // It receives only from its peer.
    let stranger = UdpSocket::bind("127.0.0.1:0").await?;
    log(all, stranger.send_to(b"stranger", peer).await);
    sleep(20 * MILLI).await;
    log(all, one.send_to(b"peer", peer).await);
    log(all, other.peek(&mut buffer).await);
    log(
        all,
        other
            .recv_from(&mut buffer)
            .await
            .map(|(length, from)| (length, from == own)),
    );
    log(all, other.send(b"second").await);
    let (length, from) = one.peek_from(&mut buffer).await?;
    log(all, Ok((length, from == peer)));
    log(all, one.recv(&mut buffer[..3]).await);
    log(all, Ok(&buffer[..3]));
    drop(one);
    other.send(b"third").await?;
    sleep(20 * MILLI).await;
    log(all, other.recv(&mut buffer).await);
    Ok(())
}

async fn run() -> io::Result<Log> {
    let mut all = Vec::new();
    datagrams(&mut all).await?;
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
