//! The quorum: the n-th success.

use std::pin::pin;

use joint::oneshot;
use joint_flow::{promise, quorum, spawn};

use crate::common::{Log, OnDrop, check, settled};

type Answer = Result<u32, &'static str>;

async fn receives(answer: oneshot::Receiver<Answer>, _held: OnDrop) -> Answer {
    answer.await.unwrap_or(Err("broken"))
}

/// Producers that each hold something, and what they wait for.
fn producers(
    log: &Log,
    count: usize,
) -> (
    Vec<oneshot::Sender<Answer>>,
    Vec<impl Future<Output = Answer> + Send + 'static>,
) {
    let producer = |index: usize| {
        let (sender, answer) = oneshot::channel();
        (sender, receives(answer, log.on_drop(index.to_string())))
    };
    (0..count).map(producer).unzip()
}

/// Flow: /flow/flow/quorum.
///
/// Quorums of 0 to 5 of the same 5 promises.
#[test]
fn quorum_of_each_size() {
    check(|| async {
        let (senders, futures): (Vec<_>, Vec<_>) = (0..5).map(|_| promise::channel()).unzip();
        let quorums: Vec<_> = (0..=5).map(|n| spawn(quorum(n, futures.clone()))).collect();
        for (sent, sender) in senders.into_iter().enumerate() {
            settled().await;
            assert!(quorums[sent].is_finished());
            assert!(!quorums[sent + 1].is_finished());
            sender.send(sent);
        }
        for (n, quorum) in quorums.into_iter().enumerate() {
            let values = quorum.await.unwrap().unwrap();
            assert!(values.into_iter().flatten().eq(0..n));
        }
    });
}

/// Flow: /flow/coro/quorumAsyncResultReady.
#[test]
fn quorum_ready() {
    check(|| async {
        let ready = [1, 2].map(|n| std::future::ready(Ok::<_, ()>(n)));
        assert_eq!(quorum(2, ready).await, Ok([Some(1), Some(2)]));
    });
}

/// Flow: /flow/coro/quorumAsyncResultSuccess.
///
/// Differs: the loser is gone when the quorum is reached. In Flow it can still be sent to.
#[test]
fn quorum_success() {
    check(|| async {
        let log = Log::new();
        let (senders, producers) = producers(&log, 3);
        let reached = spawn(quorum(2, producers));
        let mut senders = senders.into_iter();
        for (index, sender) in (0..2).zip(&mut senders) {
            settled().await;
            assert!(!reached.is_finished());
            sender.send(Ok(index)).unwrap();
        }
        assert_eq!(reached.await.unwrap(), Ok(vec![Some(0), Some(1), None]));
        assert!(senders.next().unwrap().send(Ok(2)).is_err());
    });
}

/// Flow: /flow/coro/quorumAsyncResultVoid.
#[test]
fn quorum_void() {
    check(|| async {
        let (first, a) = oneshot::channel::<()>();
        let (_second, b) = oneshot::channel::<()>();
        let reached = spawn(quorum(1, vec![a, b]));
        settled().await;
        assert!(!reached.is_finished());
        first.send(()).unwrap();
        assert_eq!(reached.await.unwrap(), Ok(vec![Some(()), None]));
    });
}

/// Flow: /flow/coro/quorumAsyncResultError.
///
/// Two of two cannot be reached any more after the first error.
///
/// Differs: Flow fails with the first error even if the quorum can still be reached, and so does
/// `strict`. Otherwise a quorum fails with all errors when it has become impossible.
#[test]
fn quorum_error() {
    check(|| async {
        for strict in [false, true] {
            let log = Log::new();
            let (senders, producers) = producers(&log, 2);
            let failed = spawn(async move {
                match strict {
                    true => quorum(2, producers).strict().await.map_err(|e| vec![e]),
                    false => {
                        let missed = quorum(2, producers).await;
                        missed.map_err(|errors| errors.into_iter().flatten().collect())
                    }
                }
            });
            let mut senders = senders.into_iter();
            senders.next().unwrap().send(Ok(1)).unwrap();
            settled().await;
            assert!(!failed.is_finished());
            senders.next().unwrap().send(Err("io")).unwrap();
            assert_eq!(failed.await.unwrap(), Err(vec!["io"]));
        }
    });
}

/// Flow: /flow/coro/quorumAsyncResultError.
///
/// One of two is reached after an error, but not if it is strict.
#[test]
fn quorum_error_that_is_tolerated() {
    check(|| async {
        let answers = || [std::future::ready(Err("io")), std::future::ready(Ok(7))];
        assert_eq!(quorum(1, answers()).await, Ok([None, Some(7)]));
        assert_eq!(quorum(1, answers()).strict().await, Err("io"));
    });
}

/// Flow: /flow/coro/quorumAsyncResultCancelsRemainingProducers.
#[test]
fn quorum_cancels_remaining_producers() {
    check(|| async {
        let log = Log::new();
        let (mut senders, producers) = producers(&log, 3);
        let caller = log.clone();
        let reached = spawn(async move {
            // It still exists when the caller goes on.
            let mut quorum = pin!(quorum(1, producers));
            let values = quorum.as_mut().await;
            caller.add("caller");
            values
        });
        settled().await;
        senders.swap_remove(1).send(Ok(1)).unwrap();
        let values = reached.await.unwrap();
        assert_eq!(values, Ok(vec![None, Some(1), None]));
        // The producers hold nothing when the caller goes on, and the losers left first to last.
        assert_eq!(log.all(), ["1", "0", "2", "caller"]);
        assert!(senders.iter().all(oneshot::Sender::is_closed));
    });
}

/// Flow: /flow/coro/quorumAsyncResultDropCancelsProducers.
#[test]
fn quorum_drop_cancels_producers() {
    check(|| async {
        let log = Log::new();
        let (senders, producers) = producers(&log, 2);
        let waiting = spawn(quorum(2, producers));
        settled().await;
        assert!(!waiting.is_finished());
        drop(waiting);
        assert_eq!(log.all(), ["0", "1"]);
        assert!(senders.iter().all(oneshot::Sender::is_closed));
    });
}
