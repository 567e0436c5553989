//! governor 0.10.4, with the clock of the simulation.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use crate::{
    limiter::{Limiter, rate},
    world::programs,
};
use governor::{
    Quota, RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use joint_executor::time::{now, sleep};

programs![rate::<Direct>];

#[derive(Clone)]
struct Simulated;

impl Clock for Simulated {
    type Instant = Instant;

    fn now(&self) -> Instant {
        now()
    }
}

type Direct = RateLimiter<NotKeyed, InMemoryState, Simulated, NoOpMiddleware<Instant>>;

impl Limiter for Direct {
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
