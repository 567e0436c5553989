//! A task that forks. The child blocks in a wait of its own, on what was a worker's thread, and
//! leaves alone what is its parent's: the events of the reactor that both have, and the timers.
//!
//! A program of its own with one test, so that no other test's thread holds a lock at the fork.
#![cfg(all(unix, feature = "io"))]

use std::net::UdpSocket;

use crate::child::in_child;
use crate::prelude::*;

#[test]
fn a_child_that_waits_takes_nothing_from_its_parent() {
    crate::common::alone(|| {
        ends(|| {
            let executor = Executor::builder().workers(1).build().unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let address = socket.local_addr().unwrap();
            let (register, registered) = mpsc::channel();
            let reads = executor.spawn(async move {
                let socket = AsyncFd::new(socket).unwrap();
                let mut buffer = [0; 8];
                let read = socket.read_with(|socket| {
                    let read = socket.recv(&mut buffer);
                    let _ = register.send(());
                    read
                });
                read.await.unwrap()
            });
            registered.recv().unwrap();
            let forks = executor.spawn(async move {
                let (fired, waker) = counting();
                let mut timer = pin!(sleep(MILLI));
                assert!(poll_with(&mut timer, &waker).is_pending());
                in_child(move || {
                    let sends = UdpSocket::bind("127.0.0.1:0").unwrap();
                    sends.send_to(b"x", address).unwrap();
                    let (_sender, mut receiver) = oneshot::channel::<()>();
                    // By its end the event is there, and the timer is due.
                    assert!(receiver.blocking_recv_timeout(20 * MILLI).is_err());
                    assert_eq!(fired.count(), 0, "the child has fired its parent's timer");
                    let (sender, waits) = oneshot::channel();
                    thread::spawn(move || sender.send(7).unwrap());
                    assert_eq!(waits.blocking_recv(), Ok(7));
                });
            });
            block_on(forks);
            assert_eq!(block_on(reads), 1);
        });
    });
}
