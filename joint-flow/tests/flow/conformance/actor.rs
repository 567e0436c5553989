//! The life of an actor from its start to its end: `/flow/coro/actor` in parts, and small actors.

use std::{
    future::ready,
    sync::{Arc, Mutex},
    time::Duration,
};

use joint::oneshot;
use joint_executor::time::timeout;
use joint_flow::{Closed, promise, spawn, stream, stream::StreamExt, time::delay, uncancellable};
use joint_sim::random;

use crate::common::{Log, OnDrop, check, settled};

const SECOND: Duration = Duration::from_secs(1);

struct Lifetime {
    _dropped: OnDrop,
}

impl Lifetime {
    fn begin(log: &Log, id: u32) -> Self {
        log.add(format!("new {id}"));
        Self {
            _dropped: log.on_drop(format!("drop {id}")),
        }
    }
}

async fn waits<E>(log: Log, future: impl Future<Output = Result<(), E>>) -> Result<(), E> {
    log.add("start");
    let _first = Lifetime::begin(&log, 0);
    future.await?;
    log.add("returned");
    let _second = Lifetime::begin(&log, 1);
    Ok(())
}

/// The object that was constructed last is destroyed first, before the caller goes on.
#[test]
fn actor_constructs_and_destroys_in_order() {
    check(|| async {
        let log = Log::new();
        let waited = async {
            delay(SECOND).await;
            Ok::<_, ()>(())
        };
        waits(log.clone(), waited).await.unwrap();
        log.add("caller");
        let order = [
            "start", "new 0", "returned", "new 1", "drop 1", "drop 0", "caller",
        ];
        assert_eq!(log.all(), order);
    });
}

/// Whether an error is ready or comes later, the objects are destroyed before the caller sees it.
#[test]
fn actor_with_an_error() {
    check(|| async {
        let late = async {
            delay(Duration::ZERO).await;
            Err("disk")
        };
        for error in [
            Box::pin(ready(Err("disk"))) as std::pin::Pin<Box<dyn Future<Output = _>>>,
            Box::pin(late),
        ] {
            let log = Log::new();
            let failed = waits(log.clone(), error).await;
            log.add(failed.unwrap_err());
            assert_eq!(log.all(), ["start", "new 0", "drop 0", "disk"]);
        }
    });
}

/// A local variable does not move while its future is suspended.
#[test]
fn actor_keeps_its_locals_in_place() {
    async fn still_at(reference: &u64, address: usize) {
        delay(SECOND / 10).await;
        assert_eq!(std::ptr::from_ref(reference).addr(), address);
    }
    check(|| async {
        let task = spawn(async {
            let local = random();
            let address = std::ptr::from_ref(&local).addr();
            still_at(&local, address).await;
            assert_eq!(std::ptr::from_ref(&local).addr(), address);
        });
        task.await.unwrap();
    });
}

#[test]
fn trivial_actors() {
    check(|| async {
        let result = Arc::new(Mutex::new(0));
        let set = result.clone();
        uncancellable(async move { *set.lock().unwrap() = 1 })
            .await
            .unwrap();
        assert_eq!(*result.lock().unwrap(), 1);
        assert_eq!(spawn(async { 42 }).await.unwrap(), 42);
        assert_eq!(spawn(ready("of any type")).await.unwrap(), "of any type");

        let (sender, input) = promise::channel();
        let one_more = spawn(async move { input.await.unwrap() + 1 });
        settled().await;
        assert!(!one_more.is_finished());
        sender.send(100);
        assert_eq!(one_more.await.unwrap(), 101);

        let (sender, mut receiver) = stream::channel::<_, Closed>();
        sender.send(101).unwrap();
        sender.send(102).unwrap();
        let consume_one = spawn(async move { (receiver.next().await, receiver) });
        let consumed = consume_one.wait().await.unwrap();
        assert_eq!(consumed.0, Some(Ok(101)));
        assert_eq!(sender.len(), 1);

        let (sender, receiver) = stream::channel::<_, Closed>();
        let sum = spawn(receiver.fold(0, |sum, item| sum + item.unwrap()));
        for item in [1, 10, 100] {
            sender.send(item).unwrap();
        }
        sender.end();
        assert_eq!(sum.await.unwrap(), 111);
    });
}

#[test]
fn detached() {
    check(|| async {
        let (sender, ended) = oneshot::channel();
        joint_executor::spawn_detached(async move {
            for _ in 0..3 {
                delay(Duration::ZERO).await;
            }
            sender.send("ended").unwrap();
        });
        assert_eq!(timeout(SECOND * 3600, ended).await, Ok(Ok("ended")));
    });
}

#[test]
fn detached_errors() {
    check(|| async {
        let log = Log::new();
        let held = log.on_drop("ended");
        let fails = async move {
            let _held = held;
            delay(Duration::ZERO).await;
            Err::<(), _>("swallowed")
        };
        drop(uncancellable(fails));
        settled().await;
        assert_eq!(log.all(), ["ended"]);
    });
}
