//! A waiter is woken when there is something to do, and not when there is nothing.

use std::{
    io::{IoSlice, IoSliceMut},
    os::unix::net::{UnixDatagram, UnixStream},
};

use futures_lite::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::io::support::{on_workers, poll_once, streams};
use crate::prelude::*;

/// Each event is used up by somebody that the descriptor does not know of.
#[test]
fn readiness_is_asked_anew_each_time() {
    ends(|| {
        let (one, other) = UnixDatagram::pair().unwrap();
        let other = AsyncFd::new(other).unwrap();
        let use_up = || assert_eq!(other.get_ref().recv(&mut [0; 8]).unwrap(), 1);
        let wakes = Wakes::new();
        let waker = wakes.waker();
        let mut cx = Context::from_waker(&waker);
        assert!(other.poll_write_ready(&mut cx).is_ready());
        for round in 1..=3 {
            one.send(b"a").unwrap();
            block_on(other.readable()).unwrap();
            use_up();
            let mut wait = pin!(other.readable());
            assert!(poll_once(wait.as_mut(), &wakes).is_pending(), "{round}");
            one.send(b"b").unwrap();
            block_on(wait).unwrap();
            use_up();
            assert!(other.poll_read_ready(&mut cx).is_pending(), "{round}");
            let before = wakes.count();
            one.send(b"c").unwrap();
            wait_until(|| wakes.count() > before);
            assert!(matches!(other.poll_read_ready(&mut cx), Poll::Ready(Ok(_))));
            use_up();
        }
    });
}

/// It is polled once for each datagram and once to begin with.
#[test]
fn a_task_that_reads_the_descriptor_itself_does_not_spin() {
    on_workers(|| async {
        let (one, other) = UnixDatagram::pair().unwrap();
        let other = AsyncFd::new(other).unwrap();
        let polls = Arc::<AtomicUsize>::default();
        let counted = polls.clone();
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..20).map(|_| oneshot::channel()).unzip();
        let task = spawn(async move {
            let mut read = pin!(async {
                for sender in senders {
                    other.readable().await.unwrap();
                    other.get_ref().recv(&mut [0; 8]).unwrap();
                    sender.send(()).unwrap();
                }
            });
            poll_fn(|cx| {
                counted.fetch_add(1, Relaxed);
                read.as_mut().poll(cx)
            })
            .await;
        });
        for receiver in receivers {
            one.send(b"a").unwrap();
            receiver.await.unwrap();
        }
        task.await;
        // Each datagram is at most two events: it comes, and there is room again.
        let polls = polls.load(Relaxed);
        assert!(polls <= 20 * 3 + 1, "{polls} polls");
    });
}

#[test]
fn an_operation_that_was_interrupted_is_tried_again() {
    ends(|| {
        let (_one, other) = streams();
        let mut tries = 0;
        let result = block_on(other.read_with(|_| {
            tries += 1;
            match tries {
                1..5 => Err(io::ErrorKind::Interrupted.into()),
                _ => Ok(tries),
            }
        }));
        assert_eq!(result.unwrap(), 5);
    });
}

#[test]
fn buffers_are_read_and_written_together() {
    ends(|| {
        let (mut one, mut other) = streams();
        let parts = [IoSlice::new(b"abc"), IoSlice::new(b""), IoSlice::new(b"de")];
        let written = poll_fn(|cx| Pin::new(&mut one).poll_write_vectored(cx, &parts));
        assert_eq!(block_on(written).unwrap(), 5);
        let (mut head, mut tail) = ([0; 2], [0; 8]);
        let mut parts = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut tail)];
        let read = poll_fn(|cx| Pin::new(&mut other).poll_read_vectored(cx, &mut parts));
        assert_eq!(block_on(read).unwrap(), 5);
        assert_eq!((&head, &tail[..3]), (b"ab", &b"cde"[..]));
    });
}

#[test]
fn closing_leaves_the_descriptor_open() {
    ends(|| {
        let (mut one, other) = streams();
        block_on(one.close()).unwrap();
        block_on(one.write_all(b"still")).unwrap();
        let mut buffer = [0; 5];
        block_on(other.read_exact(&mut buffer)).unwrap();
        assert_eq!(&buffer, b"still");
    });
}

#[test]
fn a_descriptor_is_served_once() {
    ends(|| {
        let (one, _other) = UnixStream::pair().unwrap();
        let first = AsyncFd::new(&one).unwrap();
        let error = AsyncFd::new(&one).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("duplicate"), "{error}");
        drop(first);
        AsyncFd::new(&one).unwrap();
    });
}
