//! Variables whose changes can be awaited.

use std::sync::Arc;

use joint_flow::{Task, spawn, time::delay, variable::AsyncVar};
use joint_sim::random;
use std::time::Duration;

use crate::common::{check, settled};

/// Copies one part of a variable into another one for as long as the task is there: Flow's
/// `IAsyncListener`.
fn listen<T, U>(
    input: &Arc<AsyncVar<T>>,
    map: impl Fn(&T) -> U + Send + 'static,
) -> (Arc<AsyncVar<U>>, Task<()>)
where
    T: Send + 'static,
    U: PartialEq + Send + Sync + 'static,
{
    let output = Arc::new(AsyncVar::new(input.with(&map)));
    let (input, mapped) = (input.clone(), output.clone());
    let listener = spawn(async move {
        loop {
            let changed = input.on_change();
            mapped.set(input.with(&map));
            if changed.await.is_err() {
                return;
            }
        }
    });
    (output, listener)
}

/// A task that waits for one part of a variable is not woken by a change of the other one.
#[test]
fn async_listener() {
    check(|| async {
        let input = Arc::new(AsyncVar::new((0, 0)));
        let (first, _first_listener) = listen(&input, |pair| pair.0);
        let (second, _second_listener) = listen(&input, |pair| pair.1);
        let unchanged = second.on_change();
        let waits = spawn({
            let first = first.clone();
            async move {
                loop {
                    let changed = first.on_change();
                    if first.get() == 8 {
                        return;
                    }
                    changed.await.unwrap();
                }
            }
        });
        for n in 1..=8 {
            delay(Duration::from_millis(random() % 1000)).await;
            input.set((n, 0));
        }
        waits.await.unwrap();
        assert!(!unchanged.is_finished());
    });
}

/// A copy that is made with a delay does not lose a change of its input that the copy itself has
/// caused.
#[test]
fn delayed_async_var_preserves_reentrant_input_change() {
    check(|| async {
        let input = Arc::new(AsyncVar::new(true));
        let output = Arc::new(AsyncVar::new(true));
        let feedback = {
            let (changed, input) = (output.on_change(), input.clone());
            spawn(async move {
                changed.await.unwrap();
                input.set(true);
            })
        };
        let _publisher = {
            let (input, output) = (input.clone(), output.clone());
            spawn(async move {
                loop {
                    let changed = input.on_change();
                    delay(Duration::ZERO).await;
                    output.set(input.get());
                    if changed.await.is_err() {
                        return;
                    }
                }
            })
        };
        settled().await;
        input.set(false);
        feedback.await.unwrap();
        settled().await;
        assert!(input.get());
        assert!(output.get());
    });
}
