//! Promises and futures, and callbacks on them.

use std::sync::{Arc, Mutex};
use std::{pin::Pin, task::Context};

use joint_flow::{
    promise::{self, Closed, never},
    spawn,
};

use crate::common::{Wakes, check, settled};

/// Flow: /flow/flow/trivial futures.
///
/// Differs: there is no invalid future. An `Option` of one takes its place.
#[test]
fn trivial_futures() {
    check(|| async {
        let none = spawn(never::<u32>());
        let one = spawn(async { 1 });
        settled().await;
        assert!(!none.is_finished());
        assert!(one.is_finished());
        assert_eq!(one.await.unwrap(), 1);
    });
}

/// Flow: /flow/flow/trivial promises.
#[test]
fn trivial_promises() {
    check(|| async {
        let (sender, future) = promise::channel();
        assert!(!future.is_finished());
        sender.send(2);
        assert!(future.is_finished());
        assert_eq!(future.get(), Some(&2));
        assert_eq!(future.await, Ok(2));

        let (sender, future) = promise::channel::<Result<u32, _>>();
        sender.send(Err("end"));
        assert_eq!(future.await, Ok(Err("end")));

        let (sender, future) = promise::channel::<u32>();
        drop(sender);
        assert!(future.is_finished());
        assert_eq!(future.await, Err(Closed));
    });
}

/// Flow: /flow/flow/nonserializable futures.
///
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

/// Flow: /flow/flow/callbacks.
///
/// Differs: a callback is a waker, which is called on the sender's stack as in Flow. The value is
/// then taken by a poll. A future that is dropped takes its callback with it.
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

/// Flow: /flow/flow/callbacks.
///
/// A waiter that comes when the value is there does not wait.
#[test]
fn callbacks_on_a_value() {
    check(|| async {
        let (sender, future) = promise::channel();
        sender.send(123);
        let result = Arc::new(Mutex::new(0));
        let (late, noted) = (future.clone(), result.clone());
        spawn(async move { *noted.lock().unwrap() = late.await.unwrap() })
            .await
            .unwrap();
        assert_eq!(*result.lock().unwrap(), 123);
    });
}
