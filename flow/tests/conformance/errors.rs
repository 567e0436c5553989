//! Errors that become values, are replaced, or are ignored. There is no wrapper for that here,
//! because an output that can fail is a `Result`, and the methods of `Result` do it.

use joint::oneshot;
use joint_flow::{Task, spawn};

use crate::common::{after, check, settled};

type Answer = Result<u32, &'static str>;

/// Spawns a task that is ready with the answer after so many polls.
fn answers(polls: usize, answer: Answer) -> Task<Answer> {
    spawn(after(polls, answer))
}

/// Flow: /flow/coro/errorOr/ReadyValue.
/// Flow: /flow/coro/errorOr/ReadyError.
/// Flow: /flow/coro/errorOr/AsyncValue.
/// Flow: /flow/coro/errorOr/AsyncError.
///
/// Differs: awaiting does not throw, so each await is Flow's `errorOr`.
#[test]
fn error_or() {
    check(|| async {
        for answer in [Ok(7), Err("io")] {
            let ready = answers(0, answer);
            settled().await;
            assert!(ready.is_finished());
            assert_eq!(ready.await.unwrap(), answer);

            let (sender, sent) = oneshot::channel();
            let waiting = spawn(async move { sent.await.unwrap() });
            settled().await;
            sender.send(answer).unwrap();
            assert_eq!(waiting.await.unwrap(), answer);
        }
    });
}

/// Flow: /flow/coro/ignore/ReadyValue.
/// Flow: /flow/coro/ignore/ReadyError.
/// Flow: /flow/coro/errorOrIgnore/AsyncValue.
/// Flow: /flow/coro/errorOrIgnore/AsyncError.
///
/// Differs: there is no wrapper that ignores an error, because `Result::ok` does.
#[test]
fn ignore() {
    check(|| async {
        for polls in [0, 2] {
            assert_eq!(answers(polls, Ok(7)).await.unwrap().ok(), Some(7));
            assert_eq!(answers(polls, Err("io")).await.unwrap().ok(), None);
        }
    });
}

/// Flow: /flow/genericactors/ThrowErrorOr.
#[test]
fn throw_error_or() {
    async fn throws(answer: Task<Answer>) -> Result<u32, &'static str> {
        let value = answer.await.unwrap()?;
        Ok(value)
    }
    check(|| async {
        assert_eq!(throws(answers(1, Ok(7))).await, Ok(7));
        assert_eq!(throws(answers(1, Err("failed"))).await, Err("failed"));
    });
}

/// Flow: /flow/genericactors/TransformErrors.
/// Flow: /flow/genericactors/TransformError.
///
/// Differs: `map_err` replaces all errors, or some of them.
#[test]
fn transform_error() {
    let transform = |error| if error == "too old" { "failed" } else { error };
    check(|| async move {
        for (answer, transformed) in [
            (Ok(7), Ok(7)),
            (Err("too old"), Err("failed")),
            (Err("behind"), Err("behind")),
        ] {
            let answer = answers(1, answer).await.unwrap();
            assert_eq!(answer.map_err(transform), transformed);
        }
    });
}
