//! Errors that become values, are replaced, or are ignored. There is no wrapper for that here,
//! because an output that can fail is a `Result`, and the methods of `Result` do it.

use joint_flow::{Task, spawn};

use crate::common::{after, check, settled};

type Answer = Result<u32, &'static str>;

async fn throws(answer: Task<Answer>) -> Answer {
    let value = answer.await.unwrap()?;
    Ok(value)
}

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
