//! Promise and future: one producer, many waiters.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use joint_executor::yield_now;
use joint_flow::promise::{self, Closed, never};
use joint_flow::spawn;

use crate::common::{Log, after, check, holding, settled};

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
                    let left = joint_sim::may_cancel(shared.clone()).await;
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
fn every_poll_sees_the_one_value() {
    check(|| async {
        let made = Arc::new(AtomicUsize::new(0));
        let (sender, shared) = promise::channel();
        // `send` consumes the sender. That a second one does not compile is an example of the page.
        let count = made.clone();
        joint_executor::spawn(async move { sender.send(count.fetch_add(1, Ordering::Relaxed)) })
            .await;
        for _ in 0..3 {
            assert_eq!(shared.clone().await, Ok(0));
        }
        assert_eq!(made.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn dropping_the_producer_fails_every_waiter() {
    check(|| async {
        let (sender, shared) = promise::channel::<u32>();
        let waiters = [(); 3].map(|()| joint_executor::spawn(shared.clone()));
        let producer = joint_executor::spawn(async move {
            yield_now().await;
            drop(sender);
        });
        for waiter in waiters {
            assert_eq!(waiter.await, Err(Closed));
        }
        producer.await;
        assert!(shared.is_finished());
        assert_eq!(shared.await, Err(Closed), "and to who comes later");
    });
}

#[test]
fn cancelling_the_producer_fails_the_waiter() {
    check(|| async {
        let (sender, shared) = promise::channel::<u32>();
        let producer = spawn(async move {
            never::<()>().await;
            sender.send(1);
        });
        let waiter = joint_executor::spawn(shared);
        yield_now().await;
        drop(producer);
        assert_eq!(waiter.await, Err(Closed));
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
fn from_future_runs_on() {
    check(|| async {
        let (done, is_done) = promise::channel();
        let (driver, shared) = promise::from_future(async move {
            after(2, ()).await;
            done.send(());
        });
        joint_executor::spawn(driver).detach();
        yield_now().await;
        drop(shared);
        assert_eq!(is_done.await, Ok(()));
    });
}

#[test]
fn dropping_or_cancelling_after_the_end_does_nothing() {
    check(|| async {
        let log = Log::new();
        let value = Arc::new(log.on_drop("value"));
        let task = spawn(async move { value });
        let other = task.clone();
        let held = task.await.unwrap();
        other.cancel();
        assert!(log.all().is_empty());
        assert!(Arc::ptr_eq(&held, &other.clone().await.unwrap()));
        drop(other);
        assert!(log.all().is_empty());
        settled().await;
        drop(held);
        assert_eq!(log.all(), ["value"]);
    });
}

#[test]
fn never_is_not_ready() {
    check(|| async {
        let hour = std::time::Duration::from_secs(3600);
        assert!(
            joint_executor::time::timeout(hour, never::<()>())
                .await
                .is_err()
        );
        // A task that waits for nothing is kept for as long as it has a handle.
        let log = Log::new();
        let task = spawn(holding::<_, ()>(log.on_drop("cancelled")));
        assert!(
            joint_executor::time::timeout(hour, task.clone())
                .await
                .is_err()
        );
        assert!(log.all().is_empty() && !task.is_finished());
    });
}
