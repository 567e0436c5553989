//! A program for rate limiters.

use crate::world::{List, below, join, maybe, rest};
use joint_executor::{spawn, time::now};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

/// An adapter.
pub trait Limiter: Send + Sync + 'static {
    /// Whether the limit holds for each stretch of time, and not only from the beginning on.
    const ALWAYS: bool;

    /// Lets `burst` through at once, and after that one each period.
    fn new(burst: u32, period: Duration) -> Self;

    /// Waits until `count` may pass.
    fn pass(&self, count: u32) -> impl Future<Output = ()> + Send;
}

/// No more pass than the limit allows, and nobody waits for longer than all before need.
pub async fn rate<L: Limiter>() {
    let burst = 1 + below(5) as u32;
    let period = Duration::from_micros(1 << below(16));
    let limiter = Arc::new(L::new(burst, period));
    let start = now();
    let passed = List::new();
    let asked = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for _ in 0..1 + below(4) {
        let (limiter, passed, asked) = (limiter.clone(), passed.clone(), asked.clone());
        tasks.push(spawn(async move {
            for _ in 0..1 + below(6) {
                rest().await;
                let count = 1 + below(u64::from(burst)) as u32;
                asked.fetch_add(count, Relaxed);
                maybe(async {
                    limiter.pass(count).await;
                    passed.push((now(), count));
                })
                .await;
            }
        }));
    }
    join(tasks).await;

    // Timers are late by up to 134 ms, each time.
    let most = period * (asked.load(Relaxed) + burst) + Duration::from_secs(60);
    assert!(now() - start < most, "{:?} is too long", now() - start);
    let passed = passed.get();
    for (first, &(from, _)) in passed.iter().enumerate() {
        let from = if L::ALWAYS { from } else { start };
        let mut count = 0;
        for &(to, more) in &passed[first..] {
            count += more;
            let refilled = (to - from).as_secs_f64() / period.as_secs_f64();
            let most = f64::from(burst) + refilled + 1e-6;
            assert!(f64::from(count) <= most, "{count} pass instead of {most}");
        }
    }
}
