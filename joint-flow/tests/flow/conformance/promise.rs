//! Promises and futures, and callbacks on them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use joint_flow::{
    promise::{self, Closed},
    spawn,
    stream::{self, Receiver, Stream},
};

use crate::common::{Wakes, check};

/// A value needs no property to be promised. Whatever is not `Clone` is awaited by reference.
#[test]
fn nonserializable_futures() {
    #[derive(Debug, PartialEq)]
    struct Thing;
    check(|| async {
        let (sender, future) = promise::channel();
        sender.send(Thing);
        assert_eq!(future.wait().await, Ok(&Thing));
        assert_eq!(*spawn(async { Thing }).wait().await.unwrap(), Thing);
    });
}

#[test]
fn callbacks() {
    for sends in [true, false] {
        let (sender, future) = promise::channel();
        let callbacks = [(); 3].map(|()| Wakes::new());
        let mut waiters = [(); 3].map(|()| future.clone());
        for (waiter, callback) in waiters.iter_mut().zip(&callbacks) {
            let waker = callback.waker();
            let mut cx = Context::from_waker(&waker);
            assert!(Pin::new(waiter).poll(&mut cx).is_pending());
        }
        let [first, second, third] = waiters;
        drop(third);
        match sends {
            true => sender.send(123),
            false => drop(sender),
        }
        let called = callbacks.map(|callback| callback.count());
        assert_eq!(called, [1, 1, 0]);
        let expected = if sends { Ok(123) } else { Err(Closed) };
        for waiter in [first, second, future] {
            assert_eq!(joint::block_on(waiter), expected);
        }
    }
}

fn poll(
    receiver: &mut Receiver<u32, Closed>,
    callback: &Arc<Wakes>,
) -> Poll<Option<Result<u32, Closed>>> {
    let waker = callback.waker();
    Pin::new(receiver).poll_next(&mut Context::from_waker(&waker))
}

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
