//! Polls that block their worker in a wait of this crate. Whatever they wait for arrives, although
//! the worker runs no task meanwhile.
#![cfg(feature = "io")]

mod attend;
mod busy;
mod deadlock;
mod local;
mod token;

use std::net::UdpSocket;

use crate::prelude::*;

/// A socket that gets one datagram, sent by another thread once [`Sender::send`] is called.
fn socket() -> (UdpSocket, Sender) {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = receiver.local_addr().unwrap();
    let (sender, asked) = mpsc::channel();
    thread::spawn(move || {
        if asked.recv().is_ok() {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.send_to(b"x", address).unwrap();
        }
    });
    (receiver, Sender(sender))
}

struct Sender(mpsc::Sender<()>);

impl Sender {
    fn send(self) {
        self.0.send(()).unwrap();
    }
}

/// Reads the datagram, which is asked for only once the read has registered.
async fn read(socket: UdpSocket, sender: Sender) {
    let socket = AsyncFd::new(socket).unwrap();
    let mut sender = Some(sender);
    let mut buffer = [0; 8];
    let count = socket
        .read_with(|socket| {
            let read = socket.recv(&mut buffer);
            if read.is_err() {
                // Not registered yet, but the datagram takes its way through another thread.
                if let Some(sender) = sender.take() {
                    sender.send();
                }
            }
            read
        })
        .await;
    assert_eq!(count.unwrap(), 1);
}
