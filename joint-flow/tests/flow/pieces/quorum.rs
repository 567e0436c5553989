//! `quorum` and `any`.

use crate::prelude::*;

#[test]
#[should_panic(expected = "would fail without an error")]
fn a_strict_quorum_of_too_many_panics() {
    drop(quorum(2, [ready(Ok::<u8, u8>(1))]).strict());
}

#[test]
fn losers_are_kept_and_awaited_or_dropped() {
    check(|| async {
        let log = Log::new();
        let replica = |polls, result: Result<u8, &'static str>, name: &'static str| {
            let guard = log.on_drop(name);
            async move {
                let _guard = guard;
                after(polls, result).await
            }
        };
        let replicas = || {
            [
                replica(5, Ok(1), "slow"),
                replica(1, Ok(2), "fast"),
                replica(6, Err("lost"), "lost"),
                replica(2, Ok(4), "next"),
            ]
        };
        let (values, losers) = quorum(2, replicas()).keep_losers().await;
        assert_eq!(values, Ok(vec![None, Some(2), None, Some(4)]));
        assert_eq!(losers.len(), 2);
        log.add("the quorum is reached");
        assert_eq!(losers.await, [(0, Ok(1)), (2, Err("lost"))]);
        assert_eq!(
            log.all(),
            ["fast", "next", "the quorum is reached", "slow", "lost"]
        );

        let (values, losers) = quorum(1, replicas()).keep_losers().await;
        assert_eq!(values, Ok(vec![None, Some(2), None, None]));
        log.add("the quorum is reached");
        drop(losers);
        let expected = ["fast", "the quorum is reached", "slow", "lost", "next"];
        assert_eq!(log.all()[5..], expected);

        let (values, losers) = quorum(4, Vec::from(replicas())).keep_losers().await;
        assert_eq!(values, Err(vec![None, None, Some("lost"), None]));
        assert!(losers.is_empty());
        assert_eq!(losers.await, []);

        let (values, losers) = quorum(0, replicas()).keep_losers().await;
        assert_eq!((values, losers.len()), (Ok(vec![None; 4]), 4));
    });
}

/// A loser that was woken together with the winner, and was not polled, loses no wake-up.
#[test]
fn a_loser_that_was_woken_with_the_winner_is_polled() {
    for count in [3, 5] {
        let channels = (0..count).map(|_| oneshot::channel());
        let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = quorum(1, receivers).keep_losers();
        assert!(pin!(&mut first).poll(&mut cx).is_pending());
        senders
            .into_iter()
            .for_each(|sender| sender.send('x').unwrap());
        let Poll::Ready((values, losers)) = pin!(first).poll(&mut cx) else {
            panic!("one has succeeded");
        };
        let values = values.unwrap();
        assert!(
            values
                .into_iter()
                .eq((0..count).map(|n| (n == 0).then_some('x')))
        );
        let losers = pin!(losers).poll(&mut cx);
        assert_eq!(
            losers,
            Poll::Ready((1..count).map(|n| (n, Ok('x'))).collect())
        );
    }
}

/// Failures before the call of `strict` count, and the first of them is the error.
#[test]
fn a_quorum_that_becomes_strict_after_a_failure() {
    let future = async |error: Option<&'static str>| match error {
        Some(error) => Err::<(), _>(error),
        None => pending().await,
    };
    let mut cx = Context::from_waker(Waker::noop());
    let mut quorum = quorum(
        1,
        Vec::from([None, Some("first"), Some("second")].map(future)),
    );
    assert!(poll_with(&mut quorum, Waker::noop()).is_pending());
    let strict = pin!(quorum.strict());
    assert_eq!(strict.poll(&mut cx), Poll::Ready(Err("first")));
}
