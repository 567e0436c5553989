//! Cancelling a task, and what becomes of what it awaits.

use joint::oneshot;
use joint_executor::time::timeout;
use joint_flow::{
    Collection, Task, all, any, choice::choose, promise, promise::never, quorum, race,
    retry::retry, spawn,
};
use std::time::Duration;

use crate::{
    common::{Log, check, holding, settled},
    conformance::suspended,
};

#[test]
fn cancel1() {
    check(|| async {
        let log = Log::new();
        let (promise, future) = oneshot::channel::<()>();
        let (inside, held) = (log.clone(), log.on_drop("destructor"));
        let task = spawn(async move {
            let _held = held;
            let second_wait = future;
            never::<()>().await;
            inside.add("second wait");
            second_wait.await.unwrap();
        });
        settled().await;
        assert!(!promise.is_closed());
        task.cancel();
        assert!(task.is_finished());
        assert!(promise.is_closed(), "the future has left the promise");
        assert_eq!(log.all(), ["destructor"]);
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn cancel2() {
    check(|| async {
        let log = Log::new();
        let task = suspended(log.on_drop("alone")).await;
        assert!(log.all().is_empty());
        drop(task);
        assert_eq!(log.all(), ["alone"]);

        let first = suspended(log.on_drop("first")).await;
        let second = suspended(log.on_drop("second")).await;
        let both = all((first, second));
        assert_eq!(log.all(), ["alone"]);
        drop(both);
        assert_eq!(log.all(), ["alone", "first", "second"]);
    });
}

/// Each wrapper drops what it waits for when it is cancelled.
#[test]
fn notified_cancellation() {
    check(|| async {
        let log = Log::new();
        let inner = |name| holding::<_, Result<(), ()>>(log.on_drop(name));
        let minute = Duration::from_secs(60);
        let collection = Collection::new();
        collection.add(inner("collection"));
        let (first, held) = (inner("retry"), inner("forward"));
        let mut tries = Some(first);
        let wrappers: [(&str, Task<()>); 9] = [
            (
                "forward",
                spawn(async { spawn(held).await.unwrap().unwrap() }),
            ),
            ("race", wrap(race((inner("race"), never::<()>())))),
            (
                "timeout",
                wrap(timeout(minute * 1_000_000, inner("timeout"))),
            ),
            ("all", wrap(all((inner("all"), never::<()>())))),
            ("quorum", wrap(quorum(1, [inner("quorum")]))),
            ("any", wrap(any([inner("any")]))),
            ("choose", {
                let inner = inner("choose");
                wrap(choose().when(|| inner, |_| ()))
            }),
            ("retry", {
                spawn(async move {
                    let again = async |()| Ok(());
                    let tried = retry(again, || tries.take().expect("it is tried once"));
                    tried.await.unwrap();
                })
            }),
            ("collection", wrap(collection)),
        ];
        settled().await;
        assert!(log.all().is_empty());
        for (name, task) in wrappers {
            task.cancel();
            assert_eq!(log.all().last().map(String::as_str), Some(name));
        }
        assert_eq!(log.all().len(), 9);
    });
}

fn wrap(future: impl Future<Output: Send> + Send + 'static) -> Task<()> {
    spawn(async {
        future.await;
    })
}

/// An expiry drops the operation too. A task that has replied, and is cancelled by the receiver of
/// the reply, keeps its result.
#[test]
fn notified_cancellation_at_the_end() {
    check(|| async {
        let log = Log::new();
        let operation = holding::<_, ()>(log.on_drop("expired"));
        assert!(timeout(Duration::ZERO, operation).await.is_err());
        assert_eq!(log.all(), ["expired"]);

        for outcome in [Ok(10), Err("failed")] {
            let (input, signal) = oneshot::channel();
            let (reply, replied) = promise::channel();
            let forward = spawn(async move {
                let value: Result<i32, &str> = signal.await.unwrap();
                reply.send(());
                value
            });
            let cancelled = forward.clone();
            let canceller = spawn(async move {
                replied.await.unwrap();
                cancelled.cancel();
            });
            input.send(outcome).unwrap();
            canceller.await.unwrap();
            assert_eq!(forward.await.unwrap(), outcome);
        }
    });
}

fn never_handled<T, R>(_: T) -> R {
    panic!("a choice that is cancelled runs no handler")
}

#[test]
fn choose_cancel_waiting_and_repeated() {
    check(|| async {
        for cancels in 1..=2 {
            let (first, a) = oneshot::channel::<()>();
            let (second, b) = oneshot::channel::<i32>();
            let choice = choose::<()>()
                .when(|| a, never_handled)
                .when(|| b, never_handled);
            let task = spawn(choice);
            settled().await;
            (0..cancels).for_each(|_| task.cancel());
            assert!(first.send(()).is_err());
            assert!(second.send(3).is_err());
            settled().await;
            assert!(task.await.unwrap_err().is_cancelled());
        }
    });
}
