//! The time of a model, which passes for a thread only where that thread waits.

use core::{
    ops::{Add, AddAssign, Sub, SubAssign},
    time::Duration,
};
use real::cell::Cell;

crate::thread_local! {
    /// How long the thread has waited.
    static WAITED: Cell<Duration> = Cell::new(Duration::ZERO);
}

/// Lets time pass for this thread.
pub(crate) fn pass(time: Duration) {
    WAITED.set(WAITED.get().saturating_add(time));
}

/// [`std::time::Instant`], which says how long its thread has waited.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        Self(WAITED.get() + Duration::from_secs(1))
    }

    pub fn elapsed(&self) -> Duration {
        Self::now() - *self
    }

    pub fn duration_since(&self, earlier: Self) -> Duration {
        *self - earlier
    }

    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        *self - earlier
    }

    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }

    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }

    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        self.0.checked_sub(time).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, time: Duration) -> Self {
        Self(self.0 - time)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, time: Duration) {
        self.0 -= time;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
