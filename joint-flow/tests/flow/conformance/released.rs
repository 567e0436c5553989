//! A combinator releases its values when it ends or is cancelled, and not when it is dropped.

use joint_flow::{lock::FlowLock, promise, spawn};

use crate::common::{Log, check, settled};

/// A permit that a task holds is given back when it ends, fails, or is cancelled, although there
/// are still handles of the task.
#[test]
fn hold_while_releases_captured_state() {
    check(|| async {
        let lock = FlowLock::new(1);
        for outcome in [Some(Ok(10)), Some(Err("failed")), None] {
            let permit = lock.take(1).await.unwrap();
            let (sender, input) = promise::channel::<Result<u32, &str>>();
            let hold = spawn(async move {
                let _permit = permit;
                input.await.unwrap()
            });
            settled().await;
            assert_eq!(lock.available(), 0);
            match outcome {
                Some(outcome) => {
                    sender.send(outcome);
                    assert_eq!(*hold.wait().await.unwrap(), outcome);
                }
                None => hold.cancel(),
            }
            assert!(hold.is_finished());
            assert_eq!(lock.available(), 1);
        }
    });
}

/// The output of a task lives until its last handle is dropped, and no longer.
#[test]
fn release_destroys_state() {
    check(|| async {
        let log = Log::new();
        let held = log.on_drop("output");
        let task = spawn(async move { held });
        settled().await;
        assert!(log.all().is_empty());
        drop(task);
        settled().await;
        assert_eq!(log.all(), ["output"]);

        let held = log.on_drop("taken");
        let taken = joint_executor::spawn(async move { held }).await;
        assert_eq!(log.all(), ["output"]);
        drop(taken);
        assert_eq!(log.all(), ["output", "taken"]);
    });
}
