//! Promises and tasks with many waiters, in the simulation. What a shared result promises by itself
//! is tested in `waits.rs`.

use joint_executor::yield_now;
use joint_flow::spawn;

use crate::prelude::*;

#[test]
fn every_waiter_gets_the_value() {
    check(|| async {
        let (sender, shared) = promise::channel();
        assert!(!shared.is_finished());
        let waiters: Vec<_> = (0..4)
            .map(|n| {
                let shared = shared.clone();
                joint_executor::spawn(async move {
                    after(n % 2, ()).await;
                    // Some waiters may leave and come back.
                    let left = may_cancel(shared.clone()).await;
                    left.unwrap_or(Ok(7)).unwrap() + shared.await.unwrap()
                })
            })
            .collect();
        joint_executor::spawn(async move {
            yield_now().await;
            sender.send(7);
        })
        .detach();
        for waiter in waiters {
            assert_eq!(waiter.await, 14);
        }
        assert!(shared.is_finished());
        assert_eq!(shared.get(), Some(&7));
    });
}

#[test]
fn the_last_handle_cancels_the_producer() {
    check(|| async {
        let log = Log::new();
        let producer = spawn(holding::<_, u32>(log.on_drop("cancelled")));
        let handles = vec![producer.clone(), producer.clone(), producer];
        let waiters: Vec<_> = handles.into_iter().map(joint_executor::spawn).collect();
        yield_now().await;
        let (last, first) = waiters.split_last().unwrap();
        for waiter in first {
            waiter.abort();
        }
        settled().await;
        assert!(log.all().is_empty(), "one future is left");
        last.abort();
        for waiter in waiters {
            assert!(waiter.fallible().await.is_none());
        }
        settled().await;
        assert_eq!(log.all(), ["cancelled"]);
    });
}

#[test]
fn dropping_or_cancelling_after_the_end_does_nothing() {
    check(|| async {
        let log = Log::new();
        let (value, part) = (Arc::new(log.on_drop("value")), log.on_drop("future"));
        // A part of the future itself: a body would drop it when it ends.
        let task = spawn(poll_fn(move |_| {
            let _part = &part;
            Poll::Ready(value.clone())
        }));
        let other = task.clone();
        let held = task.await.unwrap();
        other.cancel();
        assert_eq!(log.all(), ["future"]);
        assert!(Arc::ptr_eq(&held, &other.clone().await.unwrap()));
        drop(other);
        settled().await;
        assert_eq!(log.all(), ["future"]);
        drop(held);
        assert_eq!(log.all(), ["future", "value"]);
    });
}
