//! Small combinators of Flow's `genericactors`.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use joint_executor::time::timeout;
use joint_flow::{promise, quorum, race, spawn, time::delay};

use crate::common::{check, settled};

const SECOND: Duration = Duration::from_secs(1);

/// Waits for all but so many futures, and then for the others, for as long again.
async fn wait_for_most<F: Future<Output = Result<(), ()>>>(
    futures: Vec<F>,
    fault_tolerance: usize,
    others: Duration,
) -> Result<usize, &'static str> {
    let most = futures.len() - fault_tolerance;
    let (result, losers) = quorum(most, futures).keep_losers().await;
    result.map_err(|_| "too many faults")?;
    let left = losers.len();
    match timeout(others, losers).await {
        Ok(_) => Ok(0),
        Err(_) => Ok(left),
    }
}

/// Returns how many are still running. There is no such function here: a quorum that keeps its
/// losers and a timeout are one.
#[test]
fn wait_for_most_() {
    async fn after(seconds: u32, result: Result<(), ()>) -> Result<(), ()> {
        delay(SECOND * seconds).await;
        result
    }
    check(|| async {
        let good = || vec![after(1, Ok(())), after(1000, Ok(())), after(20_000, Ok(()))];
        assert_eq!(wait_for_most(good(), 1, Duration::ZERO).await, Ok(1));
        assert_eq!(wait_for_most(good(), 0, Duration::ZERO).await, Ok(0));
        assert_eq!(wait_for_most(good(), 1, SECOND * 40_000).await, Ok(0));
        let bad = || vec![after(1, Ok(())), after(2, Ok(())), after(1, Err(()))];
        assert_eq!(wait_for_most(bad(), 1, SECOND).await, Ok(0));
        assert_eq!(
            wait_for_most(bad(), 0, SECOND).await,
            Err("too many faults")
        );
    });
}

#[test]
fn delayed() {
    async fn delayed<T>(future: impl Future<Output = T>) -> T {
        let output = future.await;
        delay(Duration::ZERO).await;
        output
    }
    check(|| async {
        assert_eq!(delayed(ready(Ok::<_, &str>(7))).await, Ok(7));
        assert_eq!(delayed(ready(Err::<u32, _>("failed"))).await, Err("failed"));
    });
}

/// Calls a function when a signal comes, and not when it fails.
#[test]
fn trigger() {
    check(|| async {
        let called = Arc::new(AtomicBool::new(false));
        let trigger = |signal: promise::Shared<()>| {
            let called = called.clone();
            spawn(async move {
                signal.await?;
                called.store(true, Relaxed);
                Ok::<_, promise::Closed>(())
            })
        };
        let (signal, signalled) = promise::channel();
        let triggered = trigger(signalled);
        settled().await;
        assert!(!called.load(Relaxed) && !triggered.is_finished());
        signal.send(());
        assert_eq!(triggered.await.unwrap(), Ok(()));
        assert!(called.swap(false, Relaxed));

        let (signal, signalled) = promise::channel();
        drop(signal);
        assert_eq!(trigger(signalled).await.unwrap(), Err(promise::Closed));
        assert!(!called.load(Relaxed));
    });
}

/// In a simulation, two equal delays end in either order.
#[test]
fn buggified_delay() {
    let seen = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    check(|| {
        let seen = seen.clone();
        async move {
            let delays = [0, 1].map(|_| spawn(delay(SECOND)));
            let (first, _) = race(delays).await;
            seen[first].store(true, Relaxed);
        }
    });
    let both = seen.each_ref().map(|seen| seen.load(Relaxed));
    assert_eq!(both, [true; 2]);
}
