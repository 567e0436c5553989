//! Random choices, which the seed of the simulation decides.

use std::time::Duration;

use joint::sim::random;

/// A number below this one.
pub(crate) fn below(bound: u64) -> u64 {
    random() % bound
}

pub(crate) fn between(least: Duration, most: Duration) -> Duration {
    let range = (most - least).as_micros() as u64;
    least + Duration::from_micros(below(range + 1))
}

/// Whether something happens that has a probability of one in so many.
pub(crate) fn one_in(cases: u64) -> bool {
    below(cases) == 0
}

pub(crate) fn one_of<T>(all: &[T]) -> &T {
    &all[below(all.len() as u64) as usize]
}
