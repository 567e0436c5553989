//! A program for rate limiters, which get the clock of the simulation.

use crate::world::{List, below, join, maybe, programs, rest};
use async_speed_limit::clock::Clock;
use governor::{
    Quota, RateLimiter, clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use joint_executor::{
    spawn,
    time::{now, sleep},
};
use std::{
    num::NonZeroU32,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// An adapter.
trait Limiter: Send + Sync + 'static {
    /// Whether the limit holds for each stretch of time, and not only from the beginning on.
    const ALWAYS: bool;

    /// Lets `burst` through at once, and after that one each period.
    fn new(burst: u32, period: Duration) -> Self;

    /// Waits until `count` may pass.
    fn pass(&self, count: u32) -> impl Future<Output = ()> + Send;
}

#[derive(Clone, Default)]
struct Simulated;

impl Clock for Simulated {
    type Instant = Instant;
    type Delay = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Instant {
        now()
    }

    fn sleep(&self, duration: Duration) -> Self::Delay {
        Box::pin(sleep(duration))
    }
}

impl clock::Clock for Simulated {
    type Instant = Instant;

    fn now(&self) -> Instant {
        now()
    }
}

type AsyncSpeedLimit = async_speed_limit::Limiter<Simulated>;

impl Limiter for AsyncSpeedLimit {
    // The delay is after the bytes are taken: several may end together.
    const ALWAYS: bool = false;

    fn new(burst: u32, period: Duration) -> Self {
        Self::builder(1.0 / period.as_secs_f64())
            .refill(period * burst)
            .build()
    }

    async fn pass(&self, count: u32) {
        self.consume(count as usize).await;
    }
}

type Governor = RateLimiter<NotKeyed, InMemoryState, Simulated, NoOpMiddleware<Instant>>;

impl Limiter for Governor {
    const ALWAYS: bool = true;

    fn new(burst: u32, period: Duration) -> Self {
        let quota = Quota::with_period(period).unwrap();
        let burst = NonZeroU32::new(burst).unwrap();
        RateLimiter::direct_with_clock(quota.allow_burst(burst), Simulated)
    }

    /// As `until_n_ready`, which asks the system's clock.
    async fn pass(&self, count: u32) {
        let count = NonZeroU32::new(count).unwrap();
        while let Err(until) = self.check_n(count).unwrap() {
            let earliest = until.earliest_possible();
            sleep(until.wait_time_from(now())).await;
            assert!(now() >= earliest, "the wait is too short");
        }
    }
}

programs! {
    rate: AsyncSpeedLimit, Governor;
}

/// No more pass than the limit allows, and nobody waits for longer than all before need.
async fn rate<L: Limiter>() {
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
