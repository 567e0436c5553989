//! Random numbers of a machine's own.
//!
//! All of them follow from the seed of the simulation, but no machine's numbers depend on how many
//! another one has drawn. So a run without one of the faults is otherwise nearly the same, and a
//! failure can be shrunk.

use std::time::Duration;

use joint_sim::random;

/// A source of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new() -> Self {
        Self(random())
    }

    /// The source for the part of the work that has this number.
    pub(crate) fn of(&self, part: u64) -> Self {
        Self(self.0 ^ mix(part))
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0) % bound
    }

    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let range = (most - least).as_micros() as u64;
        least + Duration::from_micros(self.below(range + 1))
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
