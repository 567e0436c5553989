//! Several who wait for one direction, and those that go.

use std::os::unix::net::UnixDatagram;

use futures_lite::AsyncRead;

use crate::io::support::{on_workers, poll_once, streams};
use crate::prelude::*;

const WAITERS: u8 = 100;

fn datagrams() -> (AsyncFd<UnixDatagram>, AsyncFd<UnixDatagram>) {
    let (one, other) = UnixDatagram::pair().unwrap();
    (AsyncFd::new(one).unwrap(), AsyncFd::new(other).unwrap())
}

async fn receive(socket: &AsyncFd<UnixDatagram>) -> u8 {
    let mut buffer = [0; 8];
    let received = socket.read_with(|socket| socket.recv(&mut buffer)).await;
    assert_eq!(received.unwrap(), 1);
    buffer[0]
}

#[test]
fn many_readers_and_writers_of_one_descriptor_are_all_served() {
    async fn send(socket: Arc<AsyncFd<UnixDatagram>>, n: u8) {
        let sent = socket.write_with(|socket| socket.send(&[n])).await;
        assert_eq!(sent.unwrap(), 1);
    }
    on_workers(|| async {
        for many_read in [true, false] {
            let (one, other) = datagrams();
            let (one, other) = (Arc::new(one), Arc::new(other));
            let mut received = Vec::new();
            if many_read {
                let readers = [(); WAITERS as usize].map(|()| {
                    let other = other.clone();
                    spawn(async move { receive(&other).await })
                });
                for n in 0..WAITERS {
                    send(one.clone(), n).await;
                }
                for reader in readers {
                    received.push(reader.await);
                }
            } else {
                let writers: Vec<_> = (0..WAITERS).map(|n| spawn(send(one.clone(), n))).collect();
                for _ in 0..WAITERS {
                    received.push(receive(&other).await);
                }
                for writer in writers {
                    writer.await;
                }
            }
            received.sort_unstable();
            assert!(
                received.into_iter().eq(0..WAITERS),
                "many read: {many_read}"
            );
        }
    });
}

#[test]
fn dropped_waiters_leave_nothing_and_the_others_are_served() {
    ends(|| {
        let (one, other) = datagrams();
        let wait = || async { other.readable().await };
        let waiters = || [(); WAITERS as usize].map(|()| (Box::pin(wait()), Wakes::new()));
        let (mut stays, mut goes) = (waiters(), waiters());
        for ((one, wakes), (other, other_wakes)) in stays.iter_mut().zip(&mut goes) {
            assert!(poll_once(one.as_mut(), wakes).is_pending());
            assert!(poll_once(other.as_mut(), other_wakes).is_pending());
        }
        for (wait, wakes) in goes {
            assert_eq!(wakes.wakers(), 1);
            drop(wait);
            assert_eq!(wakes.wakers(), 0);
            assert_eq!(wakes.count(), 0);
        }
        one.get_ref().send(b"a").unwrap();
        for (wait, wakes) in stays {
            wait_until(|| wakes.count() == 1);
            block_on(wait).unwrap();
            assert_eq!(wakes.wakers(), 0);
        }
    });
}

#[test]
fn the_last_caller_of_a_poll_function_is_the_one_that_is_woken() {
    ends(|| {
        let (one, other) = datagrams();
        let ((first, one_waker), (second, other_waker)) = (counting(), counting());
        for waker in [&one_waker, &other_waker] {
            let polled = other.poll_read_ready(&mut Context::from_waker(waker));
            assert!(polled.is_pending());
        }
        one.get_ref().send(b"a").unwrap();
        wait_until(|| second.count() == 1);
        assert_eq!(first.count(), 0);
    });
}

#[test]
fn a_descriptor_dropped_while_a_poll_function_waits_is_gone() {
    ends(|| {
        let (_one, mut other) = streams();
        let (wakes, waker) = counting();
        let mut cx = Context::from_waker(&waker);
        let mut buffer = [0; 8];
        let polled: Poll<io::Result<usize>> = Pin::new(&mut other).poll_read(&mut cx, &mut buffer);
        assert!(polled.is_pending());
        assert_eq!(wakes.wakers(), 2);
        drop(other);
        assert_eq!((wakes.wakers(), wakes.count()), (1, 0));
    });
}
