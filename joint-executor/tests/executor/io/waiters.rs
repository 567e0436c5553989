//! Several who wait for one direction, and those that go.

use std::os::unix::net::UnixDatagram;

use futures_lite::AsyncRead;

use crate::io::support::{poll_once, streams};
use crate::prelude::*;

const WAITERS: u8 = 100;

fn datagrams() -> (AsyncFd<UnixDatagram>, AsyncFd<UnixDatagram>) {
    let (one, other) = UnixDatagram::pair().unwrap();
    (AsyncFd::new(one).unwrap(), AsyncFd::new(other).unwrap())
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
