//! All values in order: Flow's `getAll`, on futures that have one owner.

use std::pin::pin;

use joint::oneshot;
use joint_flow::{spawn, try_all};

use crate::{
    common::{Log, OnDrop, check, settled},
    holding,
};

/// A value that can only be moved.
#[derive(Debug, PartialEq)]
struct Moved(u32);

type Answer = Result<Moved, &'static str>;

async fn receives(answer: oneshot::Receiver<Answer>, _held: OnDrop) -> Answer {
    answer.await.unwrap_or(Err("broken"))
}

/// Flow: /flow/coro/getAllAsyncResultReady.
/// Flow: /flow/coro/getAllAsyncResultMoveReady.
#[test]
fn get_all_ready() {
    check(|| async {
        let ready = [3, 5].map(|n| std::future::ready(Ok::<_, ()>(Moved(n))));
        assert_eq!(try_all(ready).await, Ok([Moved(3), Moved(5)]));
    });
}

/// Flow: /flow/coro/getAllAsyncResultSuccess.
/// Flow: /flow/coro/getAllAsyncResultMoveSuccess.
/// Flow: /flow/coro/getAllFutureAsyncSuccess.
///
/// The values are in the order of the futures, although the second one comes first.
#[test]
fn get_all_success() {
    check(|| async {
        let log = Log::new();
        let (first, a) = oneshot::channel();
        let (second, b) = oneshot::channel();
        let producers = vec![receives(a, log.on_drop("a")), receives(b, log.on_drop("b"))];
        let all = spawn(try_all(producers));
        settled().await;
        second.send(Ok(Moved(11))).unwrap();
        settled().await;
        assert!(!all.is_finished());
        first.send(Ok(Moved(7))).unwrap();
        let values = all.wait().await.unwrap();
        assert_eq!(*values, Ok(vec![Moved(7), Moved(11)]));
        assert_eq!(log.all(), ["b", "a"]);
    });
}

/// Flow: /flow/coro/getAllAsyncResultError.
/// Flow: /flow/coro/getAllAsyncResultMoveError.
/// Flow: /flow/coro/getAllAsyncResultErrorCancelsRemainingProducers.
/// Flow: /flow/coro/getAllAsyncResultMoveErrorCancelsRemainingProducers.
#[test]
fn get_all_error_cancels_remaining_producers() {
    check(|| async {
        let log = Log::new();
        let (first, a) = oneshot::channel();
        let (second, b) = oneshot::channel();
        let producers = vec![receives(a, log.on_drop("a")), receives(b, log.on_drop("b"))];
        let caller = log.clone();
        let all = spawn(async move {
            // It still exists when the caller goes on.
            let mut all = pin!(try_all(producers));
            let failed = all.as_mut().await;
            caller.add("caller");
            failed
        });
        settled().await;
        second.send(Err("io")).unwrap();
        assert_eq!(*all.wait().await.unwrap(), Err("io"));
        assert!(first.send(Ok(Moved(17))).is_err());
        assert_eq!(log.all(), ["b", "a", "caller"]);
    });
}

/// Flow: /flow/coro/getAllAsyncResultDropCancelsProducers.
/// Flow: /flow/coro/getAllAsyncResultMoveDropCancelsProducers.
#[test]
fn get_all_drop_cancels_producers() {
    check(|| async {
        let log = Log::new();
        let producers: Vec<_> = ["a", "b"]
            .map(|name| spawn(holding::<_, Answer>(log.on_drop(name))))
            .into_iter()
            .map(async |producer| match producer.wait().await {
                Ok(_) => Ok(()),
                Err(_) => Err(()),
            })
            .collect();
        let all = spawn(try_all(producers));
        settled().await;
        assert!(log.all().is_empty());
        drop(all);
        assert_eq!(log.all(), ["a", "b"]);
    });
}
