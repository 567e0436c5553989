//! Files and sockets on a real ring, and what becomes of them where the system refuses one.
#![cfg(target_os = "linux")]

mod operations;
mod refusal;
mod refused;

use std::{io, net, pin::Pin};

use futures_lite::future::poll_once;
use joint_ring::{Ring, TcpStream};

/// Returns whether there is io_uring here.
fn is_here() -> bool {
    let ring = Ring::new();
    if let Err(error) = &ring {
        println!("skipped: {error}");
    }
    ring.is_ok()
}

/// Two connected sockets, ours and one that blocks.
async fn connected() -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    (ours, listener.accept().unwrap().0)
}

/// The same connection once more, with reads of its own.
fn again(stream: &TcpStream) -> TcpStream {
    let socket = stream.get_ref().try_clone().unwrap();
    socket.try_into().unwrap()
}

type Read = Pin<Box<dyn Future<Output = (io::Result<usize>, Vec<u8>)> + Send>>;

/// Reads that wait for a peer, which the kernel has taken. If there are many, further requests of
/// this thread are queued.
async fn waiting(count: usize) -> (Vec<Read>, net::TcpStream) {
    let (ours, peer) = connected().await;
    let read = |_| {
        let ours = again(&ours);
        Box::pin(async move { ours.read(vec![7]).await }) as Read
    };
    let mut reads: Vec<_> = (0..count).map(read).collect();
    for read in &mut reads {
        assert!(poll_once(read).await.is_none());
    }
    // One more poll asks the kernel for those that were queued.
    assert!(poll_once(reads.last_mut().unwrap()).await.is_none());
    (reads, peer)
}
