//! The race: the first future that is ready.

use std::future::ready;

use joint::oneshot;
use joint_flow::{
    Closed, OneOf2, race, spawn,
    stream::{self, StreamExt},
};
use joint_sim::{Check, Faults};

use crate::common::{check, settled};

/// Flow: /flow/coro/raceReady.
///
/// Differs: an error is an output like any other, in the variant of the future that failed.
#[test]
fn race_ready() {
    check(|| async {
        assert_eq!(race((ready(7), ready("later"))).await, OneOf2::A(7));
        let error = ready(Err::<u32, _>("io"));
        assert_eq!(race((error, ready("later"))).await, OneOf2::A(Err("io")));
    });
}

/// Flow: /flow/coro/raceReadyFirstArgumentWinsTie.
#[test]
fn race_ready_first_argument_wins_tie() {
    check(|| async {
        assert_eq!(race((ready("winner"), ready(7))).await, OneOf2::A("winner"));
        assert_eq!(race([ready(1), ready(2)]).await, (0, 1));
    });
}

/// Flow: /flow/coro/raceSuccess.
#[test]
fn race_success() {
    check(|| async {
        let (_int, int_sent) = oneshot::channel::<u32>();
        let (text, text_sent) = oneshot::channel();
        let raced = spawn(race((int_sent, text_sent)));
        settled().await;
        text.send("winner").unwrap();
        assert_eq!(raced.await.unwrap(), OneOf2::B(Ok("winner")));
    });
}

/// Flow: /flow/coro/raceSuccessFirstArgument.
#[test]
fn race_success_first_argument() {
    check(|| async {
        let (int, int_sent) = oneshot::channel();
        let (_text, text_sent) = oneshot::channel::<&str>();
        let raced = spawn(race((int_sent, text_sent)));
        settled().await;
        int.send(42).unwrap();
        assert_eq!(raced.await.unwrap(), OneOf2::A(Ok(42)));
    });
}

/// Flow: /flow/coro/raceSuccess.
///
/// A loser that has another owner is released, and not cancelled.
#[test]
fn race_success_with_a_shared_loser() {
    check(|| async {
        let (sender, sent) = oneshot::channel();
        let loser = spawn(async move { sent.await.unwrap() });
        let raced = race((loser.clone(), ready(7))).await;
        assert!(matches!(raced, OneOf2::B(7)));
        settled().await;
        sender.send("late").unwrap();
        assert_eq!(loser.await.unwrap(), "late");
    });
}

/// Flow: /flow/coro/raceError.
#[test]
fn race_error() {
    check(|| async {
        let (int, int_sent) = oneshot::channel();
        let (_text, text_sent) = oneshot::channel::<&str>();
        let raced = spawn(race((int_sent, text_sent)));
        settled().await;
        int.send(Err::<u32, _>("io")).unwrap();
        assert_eq!(raced.await.unwrap(), OneOf2::A(Ok(Err("io"))));
    });
}

/// Flow: /flow/coro/raceCancel.
#[test]
fn race_cancel() {
    check(|| async {
        let (int, int_sent) = oneshot::channel();
        let (text, text_sent) = oneshot::channel();
        let raced = spawn(race((int_sent, text_sent)));
        settled().await;
        raced.cancel();
        assert!(raced.is_finished());
        assert!(int.send(1).is_err());
        assert!(text.send("late").is_err());
        assert!(raced.await.unwrap_err().is_cancelled());
    });
}

/// Flow: /flow/coro/raceStreamReady.
///
/// Differs: a receiver whose task has used up its budget is pending once, although it has an item,
/// so that a stream that is never empty lets other tasks run. The faults here leave budgets alone.
#[test]
fn race_stream_ready() {
    let faults = Faults::all().extra_yields(0.0);
    Check::new().faults(faults).run(|| async {
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        sender.send(11).unwrap();
        let raced = race((receiver.next(), ready("later"))).await;
        assert_eq!(raced, OneOf2::A(Some(Ok(11))));

        // An item that was not taken is still there.
        sender.send(12).unwrap();
        let raced = race((ready("first"), receiver.next())).await;
        assert_eq!(raced, OneOf2::A("first"));
        assert_eq!(receiver.next().await, Some(Ok(12)));
    });
}

/// Flow: /flow/coro/raceStreamSuccess.
#[test]
fn race_stream_success() {
    check(|| async {
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        let (text, text_sent) = oneshot::channel::<&str>();
        let raced = spawn(async move {
            let winner = race((receiver.next(), text_sent)).await;
            (winner, receiver.len())
        });
        settled().await;
        sender.send(13).unwrap();
        assert_eq!(raced.await.unwrap(), (OneOf2::A(Some(Ok(13))), 0));
        assert!(text.is_closed());
    });
}

/// Flow: /flow/coro/raceAsyncResultReady.
/// Flow: /flow/coro/raceAsyncResultSuccess.
/// Flow: /flow/coro/raceAsyncResultError.
///
/// An `AsyncResult` is a future that has one owner: here each future is, unless it is shared.
#[test]
fn race_async_result() {
    async fn after_signal<T>(signal: oneshot::Receiver<()>, outcome: T) -> T {
        signal.await.unwrap();
        outcome
    }
    check(|| async {
        assert_eq!(race((async { 17 }, ready("later"))).await, OneOf2::A(17));
        for outcome in [Ok(19), Err("io")] {
            let (signal, signalled) = oneshot::channel();
            let (_text, text_sent) = oneshot::channel::<&str>();
            let raced = spawn(race((after_signal(signalled, outcome), text_sent)));
            settled().await;
            signal.send(()).unwrap();
            assert_eq!(raced.await.unwrap(), OneOf2::A(outcome));
        }
    });
}
