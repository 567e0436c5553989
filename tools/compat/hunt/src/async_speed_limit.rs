//! async-speed-limit 0.4.2, with the clock of the simulation.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use crate::{limiter::rate, world::programs};
use async_speed_limit::{Limiter, clock::Clock};
use joint_executor::time::{now, sleep};

programs![rate::<Limiter<Simulated>>];

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

impl crate::limiter::Limiter for Limiter<Simulated> {
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
