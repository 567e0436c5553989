//! A combinator releases its values when it ends or is cancelled, and not when it is dropped.

use std::{
    future::ready,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use joint::oneshot;
use joint_flow::{all, lock::FlowLock, promise, race, spawn};

use crate::{
    common::{Log, check, settled},
    holding,
};

/// Flow: /flow/genericactors/WaitForFirstReleasesCapturedState.
#[test]
fn wait_for_first_releases_captured_state() {
    for outcome in [Ok(10), Err("failed")] {
        let (promise, pending) = oneshot::channel();
        let outcome = async move { Ok(outcome) };
        let futures: [Pin<Box<dyn Future<Output = _>>>; 2] = [Box::pin(outcome), Box::pin(pending)];
        let mut first = pin!(race(futures));
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready((0, _)) = first.as_mut().poll(&mut cx) else {
            panic!("the first one is ready");
        };
        // The race itself still exists.
        assert!(promise.is_closed());
    }
    let (promise, pending) = oneshot::channel::<u32>();
    drop(race([pending]));
    assert!(promise.is_closed());
}

/// Flow: /flow/genericactors/ReadyRaceReleasesCapturedState.
#[test]
fn ready_race_releases_captured_state() {
    let log = Log::new();
    let mut cx = Context::from_waker(Waker::noop());
    let loser = |name| holding::<_, u32>(log.on_drop(name));
    let mut second = pin!(race((loser("first"), ready(10))));
    assert!(second.as_mut().poll(&mut cx).is_ready());
    assert_eq!(log.all(), ["first"]);
    let mut first = pin!(race((ready(10), loser("second"))));
    assert!(first.as_mut().poll(&mut cx).is_ready());
    assert_eq!(log.all(), ["first", "second"]);
    let mut failed = pin!(race((loser("third"), ready(Err::<(), _>("failed")))));
    assert!(failed.as_mut().poll(&mut cx).is_ready());
    assert_eq!(log.all(), ["first", "second", "third"]);
}

/// Flow: /flow/genericactors/HoldWhileReleasesCapturedState.
///
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

/// Flow: /flow/coro/AsyncResult/releaseDestroysState.
///
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

/// Flow: /flow/coro/AsyncResult/noThrowOnCancel.
#[test]
fn async_result_no_throw_on_cancel() {
    check(|| async {
        let log = Log::new();
        let (promise, signal) = oneshot::channel::<()>();
        let held = log.on_drop("cleanup");
        let task = spawn(async move {
            let _held = held;
            signal.await.unwrap();
        });
        settled().await;
        task.cancel();
        assert!(task.is_finished());
        assert_eq!(log.all(), ["cleanup"]);
        assert!(promise.is_closed());
        assert!(all((task.clone(), task)).await.0.is_err());
    });
}
