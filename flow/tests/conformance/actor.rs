//! The life of an actor from its start to its end: `/flow/coro/actor` in parts, and small actors.

use std::{
    future::ready,
    sync::{Arc, Mutex},
    time::Duration,
};

use joint::oneshot;
use joint_executor::time::timeout;
use joint_flow::{
    Closed, choice::try_choose, promise, spawn, stream, stream::StreamExt, time::delay,
    uncancellable,
};
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

/// Flow: /flow/coro/actor.
///
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

/// Flow: /flow/coro/actor.
///
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

/// Flow: /flow/coro/actor.
///
/// Differs: a cancelled actor has nothing to catch. Flow says the same of `NoThrowOnCancel`.
#[test]
fn actor_cancelled() {
    check(|| async {
        for cancels in [false, true] {
            let log = Log::new();
            let (sender, signal) = oneshot::channel();
            let waited = async { signal.await.map_err(|_| "broken") };
            let task = spawn(waits(log.clone(), waited));
            settled().await;
            match cancels {
                true => task.cancel(),
                false => drop(task),
            }
            assert!(sender.is_closed());
            assert_eq!(log.all(), ["start", "new 0", "drop 0"]);
        }
    });
}

/// Flow: /flow/coro/actor.
///
/// A choice runs the handler of the branch that is ready, and no closure behind it.
///
/// Differs: a closure that makes a future does not throw. Its future fails instead.
#[test]
fn actor_choose_when() {
    check(|| async {
        let chosen = try_choose()
            .when(
                async || {
                    delay(SECOND).await;
                    Ok::<_, &str>(())
                },
                |()| Ok("delay"),
            )
            .when(|| ready(Ok(())), |()| Ok("ready"))
            .when(
                || -> std::future::Ready<Result<(), _>> { panic!("this branch is not made") },
                |()| Ok("late"),
            );
        assert_eq!(chosen.await, Ok("ready"));

        let failed = try_choose()
            .when(std::future::pending::<Result<(), _>>, |()| Ok(()))
            .when(|| ready(Err("disk")), |()| Ok(()));
        assert_eq!(failed.await, Err("disk"));
    });
}

/// Flow: /flow/coro/actor.
///
/// One of five branches, promises and streams, is sent to.
#[test]
fn actor_choose_when_sent_to() {
    check(|| async {
        let (unit, unit_sent) = oneshot::channel::<()>();
        let (int, int_sent) = oneshot::channel::<i32>();
        let (double, double_sent) = oneshot::channel::<f64>();
        let (units, mut unit_stream) = stream::channel::<(), Closed>();
        let (ints, mut int_stream) = stream::channel::<i32, Closed>();
        let (made, is_made) = oneshot::channel::<()>();
        let sends = spawn(async move {
            delay(SECOND / 10).await;
            let branch = random() % 5;
            // The losers are refused only after the choice.
            match branch {
                0 => unit.send(()).unwrap(),
                1 => int.send(7).unwrap(),
                2 => double.send(8.0).unwrap(),
                3 => units.send(()).unwrap(),
                _ => ints.send(13).unwrap(),
            }
            // Dropping the other promises breaks them, so they are kept until the choice is made.
            is_made.await.unwrap();
            branch
        });
        let chosen = joint_flow::choice::choose()
            .when(|| unit_sent, |sent| sent.map(|()| 0).unwrap())
            .when(|| int_sent, |sent| if sent == Ok(7) { 1 } else { 9 })
            .when(|| double_sent, |sent| if sent == Ok(8.0) { 2 } else { 9 })
            .when(
                || unit_stream.next(),
                |item| item.unwrap().map(|()| 3).unwrap(),
            )
            .when(
                || int_stream.next(),
                |item| if item == Some(Ok(13)) { 4 } else { 9 },
            )
            .await;
        made.send(()).unwrap();
        assert_eq!(chosen, sends.await.unwrap());
    });
}

/// Flow: /flow/coro/actor.
///
/// An uncancellable actor ends although its handle was dropped or cancelled.
#[test]
fn actor_uncancellable() {
    check(|| async {
        let (sender, sent) = oneshot::channel();
        drop(uncancellable(async move {
            delay(SECOND / 5).await;
            sender.send(2).unwrap();
        }));
        assert_eq!(sent.await, Ok(2));

        let task = uncancellable(async {
            delay(SECOND).await;
            5
        });
        delay(SECOND / 10).await;
        task.cancel();
        assert_eq!(task.await.unwrap(), 5);
    });
}

/// Flow: /flow/coro/actor.
#[test]
fn actor_reads_a_stream_of_100_items() {
    check(|| async {
        let numbers: Vec<_> = (0..100).map(|_| random() % 100).collect();
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        let sends = numbers.clone();
        let sends = spawn(async move {
            for number in sends {
                delay(Duration::from_millis(number)).await;
                sender.send(number).unwrap();
            }
            sender.end();
        });
        let mut received = Vec::new();
        while let Some(number) = receiver.try_next().await.unwrap() {
            received.push(number);
        }
        assert_eq!(received, numbers);
        sends.await.unwrap();
    });
}

/// Flow: /flow/coro/actor.
///
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

/// Flow: /flow/coro/trivial_actors.
/// Flow: /flow/flow/trivial actors.
///
/// Differs: an actor does not run on its caller's stack, so its effects are there when it has been
/// awaited, and not when the call returns.
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

/// Flow: /flow/coro/detached/completion.
/// Flow: /flow/coro/detached/multipleAwaits.
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

/// Flow: /flow/coro/detached/errors.
///
/// Differs: a detached future returns nothing, so an error has to be dropped where it is seen.
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
