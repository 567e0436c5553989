//! Errors that become values, are replaced, or are ignored. There is no wrapper for that here,
//! because an output that can fail is a `Result`, and the methods of `Result` do it.

use joint_flow::{Task, spawn};

use crate::common::{after, check, settled};

type Answer = Result<u32, &'static str>;

async fn throws(answer: Task<Answer>) -> Answer {
    let value = answer.await.unwrap()?;
    Ok(value)
}

/// Flow: /flow/coro/errorOr/ReadyValue.
/// Flow: /flow/coro/errorOr/ReadyError.
/// Flow: /flow/coro/errorOr/AsyncValue.
/// Flow: /flow/coro/errorOr/AsyncError.
/// Flow: /flow/coro/ignore/ReadyValue.
/// Flow: /flow/coro/ignore/ReadyError.
/// Flow: /flow/coro/errorOrIgnore/AsyncValue.
/// Flow: /flow/coro/errorOrIgnore/AsyncError.
/// Flow: /flow/genericactors/ThrowErrorOr.
/// Flow: /flow/genericactors/TransformErrors.
/// Flow: /flow/genericactors/TransformError.
///
/// Differs: awaiting does not throw, so each await is Flow's `errorOr`. `Result::ok` ignores an
/// error, `?` throws it, and `map_err` replaces all errors, or some of them.
#[test]
fn errors_are_values() {
    /// The answer, what is left if its error is ignored, and if some errors are replaced.
    const ROWS: [(Answer, Option<u32>, Answer); 3] = [
        (Ok(7), Some(7), Ok(7)),
        (Err("too old"), None, Err("failed")),
        (Err("behind"), None, Err("behind")),
    ];
    let transform = |error| if error == "too old" { "failed" } else { error };
    check(|| async move {
        for polls in [0, 2] {
            for (answer, ignored, transformed) in ROWS {
                let answers = || spawn(after(polls, answer));
                let row = format!("{answer:?} after {polls} polls");
                let ready = answers();
                settled().await;
                assert!(ready.is_finished(), "{row}");
                assert_eq!(ready.await.unwrap(), answer, "{row}");
                assert_eq!(answers().await.unwrap().ok(), ignored, "{row}");
                assert_eq!(throws(answers()).await, answer, "{row}");
                let replaced = answers().await.unwrap().map_err(transform);
                assert_eq!(replaced, transformed, "{row}");
            }
        }
    });
}
