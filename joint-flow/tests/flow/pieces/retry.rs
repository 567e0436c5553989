//! The retry loop.

use joint_executor::{spawn, yield_now};
use joint_flow::{
    retry::{Backoff, Policy, retry},
    time::now,
};

use crate::prelude::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn an_error_asks_the_policy_and_the_operation_runs_again() {
    check(|| async {
        let (log, tries) = (Log::new(), Cell::new(0));
        let operation = async || {
            tries.set(tries.get() + 1);
            log.add(format!("try {}", tries.get()));
            match after(1, tries.get()).await {
                3 => Ok("done"),
                n => Err(n),
            }
        };
        let policy = async |error: i32| {
            log.add(format!("error {error}"));
            Ok(())
        };
        assert_eq!(retry(policy, operation).await, Ok("done"));
        assert_eq!(log.all(), ["try 1", "error 1", "try 2", "error 2", "try 3"]);
    });
}

#[test]
fn a_policy_that_gives_up_ends_the_loop() {
    check(|| async {
        let errors = RefCell::new(vec!["other", "busy", "busy"]);
        let policy = async |error| {
            if error == "busy" {
                Ok(())
            } else {
                Err("gave up")
            }
        };
        let operation = async || Err::<(), _>(errors.borrow_mut().pop().unwrap());
        assert_eq!(retry(policy, operation).await, Err("gave up"));
        assert!(errors.borrow().is_empty());
    });
}

#[test]
fn a_failed_try_is_gone_before_the_policy_is_asked() {
    check(|| async {
        let (log, tries) = (Log::new(), Cell::new(0));
        let operation = || {
            // Part of the future itself: a body would drop it when it ends.
            let part = log.on_drop("dropped");
            tries.set(tries.get() + 1);
            let result = if tries.get() == 2 { Ok(()) } else { Err(()) };
            let mut body = Box::pin(after(1, result));
            poll_fn(move |cx| {
                let _part = &part;
                body.as_mut().poll(cx)
            })
        };
        let policy = async |()| {
            log.add("asked");
            Ok(())
        };
        assert_eq!(retry(policy, operation).await, Ok(()));
        assert_eq!(log.all(), ["dropped", "asked", "dropped"]);
    });
}

#[test]
fn cancelling_a_retry_cancels_what_it_waits_for() {
    check(|| async {
        let log = Log::new();
        let tries = Arc::new(AtomicUsize::new(0));
        let policy = {
            let log = log.clone();
            move |()| {
                let wait = log.on_drop("wait");
                async move {
                    yield_now().await;
                    drop(wait);
                    Ok(())
                }
            }
        };
        let operation = {
            let log = log.clone();
            move || {
                let part = log.on_drop("try");
                let is_last = tries.fetch_add(1, Relaxed) == 2;
                async move {
                    yield_now().await;
                    drop(part);
                    if is_last { Ok(()) } else { Err(()) }
                }
            }
        };
        let outcome = spawn(may_cancel(retry(policy, operation)));
        let outcome = outcome.await;
        let expected = ["try", "wait", "try", "wait", "try"];
        let all = log.all();
        assert_eq!(all[..], expected[..all.len()]);
        assert!(outcome.is_none() || all.len() == 5);
    });
}

/// The waits of a policy, for failures in a row.
async fn waits<E: Clone>(mut policy: impl Policy<E>, error: E) -> Vec<Duration> {
    let mut all = Vec::new();
    // Enough for every policy here that gives up.
    for _ in 0..20 {
        let start = now();
        if policy.next(error.clone()).await.is_err() {
            break;
        }
        all.push(now() - start);
    }
    all
}

#[test]
fn a_backoff_grows_to_its_longest_delay_and_gives_up() {
    // Without faults, which make timers late.
    joint_sim::run(1, async {
        let backoff = Backoff::new(MS).max(10 * MS).tries(7);
        let expected = [1, 2, 4, 8, 10, 10].map(|n| n * MS);
        assert_eq!(waits(backoff, ()).await, expected);

        let constant = Backoff::new(3 * MS).factor(1).tries(4);
        assert_eq!(waits(constant, ()).await, [3 * MS; 3]);

        assert!(waits(Backoff::new(MS).tries(0), ()).await.is_empty());
        let zero = Backoff::new(Duration::ZERO).tries(3);
        assert_eq!(waits(zero, ()).await, [Duration::ZERO; 2]);
    });
}

#[test]
fn jitter_is_bounded_and_repeatable() {
    joint_sim::run(1, async {
        let backoff = |seed| Backoff::new(MS).max(64 * MS).tries(12).jitter(seed);
        for seed in 0..20 {
            let jittered = waits(backoff(seed), ()).await;
            let full = waits(Backoff::new(MS).max(64 * MS).tries(12), ()).await;
            for (jittered, full) in jittered.iter().zip(full) {
                assert!(*jittered >= full / 2 && *jittered <= full);
            }
            assert_eq!(jittered, waits(backoff(seed), ()).await);
            assert_ne!(jittered, waits(backoff(seed + 1), ()).await);
        }
    });
}

#[test]
fn only_some_errors_are_tried_again() {
    check(|| async {
        let tries = Cell::new(0);
        let policy = Backoff::new(MS).tries(9).only_if(|&error: &i32| error < 3);
        let operation = async || {
            tries.set(tries.get() + 1);
            Err::<(), _>(tries.get())
        };
        assert_eq!(retry(policy, operation).await, Err(3));
    });
}

#[test]
fn policies_can_be_wrapped_and_spawned() {
    check(|| async {
        let (log, operation) = (Log::new(), || after(1, Err::<(), _>(7)));
        let task = spawn(retry(
            Logged(log.clone(), Backoff::new(MS).tries(3)),
            operation,
        ));
        assert_eq!(task.await, Err(7));
        assert_eq!(log.all(), ["7", "7", "7"]);

        let policy = Backoff::new(MS).only_if(|&error: &i32| error != 9);
        let task = spawn(async move { retry(policy, || after(1, Err::<(), _>(9))).await });
        assert_eq!(task.await, Err(9));
    });
}

/// A policy that asks another one.
struct Logged(Log, Backoff);

impl<E: std::fmt::Display> Policy<E> for Logged {
    async fn next(&mut self, error: E) -> Result<(), E> {
        self.0.add(error.to_string());
        self.1.next(error).await
    }
}
