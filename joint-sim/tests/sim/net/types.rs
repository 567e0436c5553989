//! What the types of `io` have beside reads and writes, on simulated sockets.

use std::mem::MaybeUninit;

use futures_lite::future::poll_fn;
use joint_executor::io::{Interest, UdpSocket};

use super::pair;
use crate::prelude::*;

#[test]
fn a_stream_is_tried_and_waited_for_without_reading() {
    each_seed(20, || async {
        let (client, server) = pair().await;
        let mut buffer = [0; 8];
        assert_eq!(kind(server.try_read(&mut buffer)), ErrorKind::WouldBlock);
        assert!(timeout(SECOND, server.readable()).await.is_err());
        let write = joint_executor::spawn(async move {
            sleep(SECOND).await;
            client.write_all(b"x").await.unwrap();
            client
        });
        let either = Interest::READABLE | Interest::WRITABLE;
        let ready = server.ready(either).await.unwrap();
        assert!(ready.is_writable() && !ready.is_readable());
        server.readable().await.unwrap();
        assert_eq!(server.try_read(&mut buffer).unwrap(), 1);
        drop(write.await);
        let ready = server.ready(Interest::READABLE).await.unwrap();
        assert!(ready.is_read_closed());
        assert_eq!(server.try_read(&mut buffer).unwrap(), 0);
    });
}

#[test]
fn options_and_halves_of_a_stream_and_uninitialised_memory() {
    sim::run(1, async {
        let (client, server) = pair().await;
        client.set_nodelay(true).unwrap();
        client.set_ttl(17).unwrap();
        assert_eq!(
            (client.nodelay().unwrap(), client.ttl().unwrap()),
            (true, 17)
        );
        let (reader, mut writer) = client.into_split();
        writer.write_all(b"hello").await.unwrap();
        drop(writer);
        let mut memory = [MaybeUninit::uninit(); 8];
        let read = poll_fn(|cx| {
            let read = server.poll_read_uninit(cx, &mut memory);
            read.map_ok(|bytes| bytes.to_vec())
        });
        let mut bytes = read.await.unwrap();
        server.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, b"hello");
        drop(reader);
    });
}

#[test]
fn datagrams_are_tried_and_their_sender_is_seen_first() {
    sim::run(1, async {
        let one = UdpSocket::bind("127.0.0.1:7").await.unwrap();
        let other = UdpSocket::bind("127.0.0.1:8").await.unwrap();
        let mut buffer = [0; 8];
        assert_eq!(kind(other.try_recv(&mut buffer)), ErrorKind::WouldBlock);
        let to = other.local_addr().unwrap();
        assert_eq!(one.try_send_to(b"hello", to).unwrap(), 5);
        other.readable().await.unwrap();
        let sender = other.peek_sender().await.unwrap();
        assert_eq!(sender, one.local_addr().unwrap());
        assert_eq!(other.try_recv(&mut buffer).unwrap(), 5);
    });
}

#[test]
fn what_needs_a_descriptor_says_so() {
    let std = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    sim::run(1, async {
        let (client, server) = pair().await;
        let message = panic_text(|| client.get_ref().take_error());
        says(message, "has no descriptor");
        assert_eq!(kind(server.into_std()), ErrorKind::Unsupported);
        assert_eq!(kind(UdpSocket::try_from(std)), ErrorKind::Unsupported);
        says(format!("{client:?}"), "127.0.0.1:49153");
    });
}
