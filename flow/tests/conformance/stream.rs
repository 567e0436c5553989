//! Streams of promises.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use joint_flow::{
    Closed, spawn,
    stream::{self, Receiver, SendError, Stream, StreamExt},
};

use crate::common::{Wakes, check, settled};

/// Flow: /flow/flow/trivial promisestreams.
///
/// Differs: a stream ends with `None`, which is no error.
#[test]
fn trivial_promisestreams() {
    check(|| async {
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        assert!(receiver.is_empty());
        sender.send(2).unwrap();
        sender.send(3).unwrap();
        assert_eq!(receiver.len(), 2);
        assert_eq!(receiver.next().await, Some(Ok(2)));
        assert_eq!(receiver.next().await, Some(Ok(3)));
        sender.send(4).unwrap();
        sender.end();
        assert_eq!(sender.send(5), Err(SendError(5)));
        assert_eq!(receiver.next().await, Some(Ok(4)));
        assert_eq!(receiver.next().await, None);

        let (sender, mut receiver) = stream::channel::<u32, Closed>();
        drop(sender);
        assert_eq!(receiver.next().await, Some(Err(Closed)));
    });
}

/// A value that counts its copies.
#[derive(Debug, Default)]
struct Tracker {
    copies: usize,
}

impl Clone for Tracker {
    fn clone(&self) -> Self {
        Self {
            copies: self.copies + 1,
        }
    }
}

/// Flow: /flow/coro/PromiseStream/move.
/// Flow: /flow/flow/PromiseStream/move.
///
/// Nothing is copied, whether the receiver waits or the item does.
///
/// Differs: an item is always moved into the stream. A sender that keeps the value sends a clone,
/// and that is the one copy that Flow makes then.
#[test]
fn promise_stream_move() {
    check(|| async {
        let (sender, mut receiver) = stream::channel::<Tracker, Closed>();
        let listener = spawn(async move {
            let item = receiver.next().await.unwrap().unwrap();
            (item.copies, receiver)
        });
        settled().await;
        sender.send(Tracker::default()).unwrap();
        let listened = joint_executor::spawn(async move { listener.wait().await.unwrap().0 });
        assert_eq!(listened.await, 0);

        let (sender, mut receiver) = stream::channel::<Tracker, Closed>();
        let kept = Tracker::default();
        sender.send(Tracker::default()).unwrap();
        sender.send(kept.clone()).unwrap();
        assert_eq!(receiver.next().await.unwrap().unwrap().copies, 0);
        assert_eq!(receiver.next().await.unwrap().unwrap().copies, 1);
        assert_eq!(kept.copies, 0);
    });
}

/// Flow: /flow/coro/PromiseStream/move2.
/// Flow: /flow/flow/PromiseStream/move2.
///
/// A received item can be moved on. Using it after that does not compile.
#[test]
fn promise_stream_move2() {
    check(|| async {
        let (sender, mut receiver) = stream::channel::<Tracker, Closed>();
        sender.send(Tracker::default()).unwrap();
        let received = receiver.next().await.unwrap().unwrap();
        let moved = received;
        assert_eq!(moved.copies, 0);
    });
}

fn poll(
    receiver: &mut Receiver<u32, Closed>,
    callback: &Arc<Wakes>,
) -> Poll<Option<Result<u32, Closed>>> {
    let waker = callback.waker();
    Pin::new(receiver).poll_next(&mut Context::from_waker(&waker))
}

/// Flow: /flow/flow/promisestream callbacks.
///
/// Differs: a callback is a waker, which is called on the sender's stack. The item is then taken by
/// a poll.
#[test]
fn promisestream_callbacks() {
    let (sender, mut receiver) = stream::channel();
    let callback = Wakes::new();
    assert!(poll(&mut receiver, &callback).is_pending());
    sender.send(123).unwrap();
    sender.send(456).unwrap();
    assert_eq!(callback.count(), 1, "one item is enough for one waiter");
    assert_eq!(poll(&mut receiver, &callback), Poll::Ready(Some(Ok(123))));
    assert_eq!(poll(&mut receiver, &callback), Poll::Ready(Some(Ok(456))));
    assert!(poll(&mut receiver, &callback).is_pending());
    drop(sender);
    assert_eq!(callback.count(), 2);
    let broken = Poll::Ready(Some(Err(Closed)));
    assert_eq!(poll(&mut receiver, &callback), broken);
}

/// Flow: /flow/flow/promisestream multiple wait error.
///
/// Differs: a second waiter does not compile, because waiting borrows the receiver. A wait that was
/// given up leaves the stream to the next one.
#[test]
fn promisestream_multiple_wait_error() {
    check(|| async {
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        {
            let mut given_up = pin!(receiver.next());
            let mut cx = Context::from_waker(Waker::noop());
            assert!(given_up.as_mut().poll(&mut cx).is_pending());
        }
        sender.send(1).unwrap();
        assert_eq!(receiver.next().await, Some(Ok(1)));
    });
}
