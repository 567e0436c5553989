//! Where decisions come from: a stream of random numbers, or the decisions of an earlier run.
//!
//! Each decision is a number below a bound. Zero is always the tamest choice, such as the task that
//! has been ready for longest, or no fault. A run that is replayed from a list of decisions makes
//! the tamest choices once the list has ended, so a list can be shortened.

use alloc::vec::Vec;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// The streams of one seed.
const DECISIONS: u64 = 0;
const PROGRAM: u64 = 1;

pub(super) struct Chance {
    decisions: ChaCha8Rng,
    /// What the program draws itself. It has a stream of its own, so that a run with fewer
    /// decisions draws the same numbers.
    program: ChaCha8Rng,
    /// The decisions to make instead of drawing them.
    replayed: Option<(Vec<u32>, usize)>,
    made: Option<Vec<u32>>,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        let stream = |number| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(number);
            rng
        };
        Self {
            decisions: stream(DECISIONS),
            program: stream(PROGRAM),
            replayed: None,
            made: None,
        }
    }

    /// Makes the decisions of an earlier run.
    pub(super) fn replay(&mut self, decisions: Vec<u32>) {
        self.replayed = Some((decisions, 0));
    }

    /// Keeps the decisions, so that they can be replayed.
    pub(super) fn keep(&mut self) {
        self.made = Some(Vec::new());
    }

    /// Returns the decisions that were kept.
    pub(super) fn made(&mut self) -> Vec<u32> {
        self.made.take().unwrap_or_default()
    }

    /// Decides for a number below `bound`, which is not 0. `draw` chooses one, with a source of
    /// random numbers.
    #[inline(always)]
    pub(super) fn decide(
        &mut self,
        bound: usize,
        draw: impl FnOnce(&mut dyn FnMut() -> u32) -> usize,
    ) -> usize {
        let decision = match &mut self.replayed {
            None => draw(&mut || self.decisions.next_u32()),
            Some((list, next)) => {
                let decision = list.get(*next).map_or(0, |&decision| decision as usize);
                *next += 1;
                decision.min(bound - 1)
            }
        };
        if let Some(made) = &mut self.made {
            made.push(decision as u32);
        }
        decision
    }

    /// Decides for any number below `bound`, all of which are equally likely.
    #[inline(always)]
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.decide(bound, |draw| scaled(draw(), bound))
    }

    /// Decides whether something that has this probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        // Nothing is drawn for what is switched off, so that it does not change the rest.
        if probability <= 0.0 {
            return false;
        }
        let happens = |draw: &mut dyn FnMut() -> u32| {
            usize::from(f64::from(draw()) < probability * 4_294_967_296.0)
        };
        self.decide(2, happens) == 1
    }

    /// A random number that is no decision itself: what a scheduler plans with.
    pub(super) fn plan(&mut self) -> u32 {
        self.decisions.next_u32()
    }

    /// The program's next random number.
    pub(super) fn random(&mut self) -> u64 {
        self.program.next_u64()
    }
}

/// Scales a random number to one below `bound`.
#[inline]
fn scaled(random: u32, bound: usize) -> usize {
    let bound = u64::try_from(bound).unwrap_or(u64::MAX);
    usize::try_from((u64::from(random) * bound) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_makes_the_same_decisions_and_then_the_tamest() {
        let mut first = Chance::new(7);
        first.keep();
        let decisions: Vec<_> = (1..50).map(|bound| first.below(bound)).collect();
        assert!(decisions.iter().any(|&decision| decision > 20));
        let mut again = Chance::new(8);
        again.replay(first.made());
        let replayed: Vec<_> = (1..50).map(|bound| again.below(bound)).collect();
        assert_eq!(replayed, decisions);
        assert_eq!((again.below(9), again.happens(1.0)), (0, false));
    }

    #[test]
    fn a_program_draws_the_same_whatever_is_decided() {
        let (mut one, mut other) = (Chance::new(7), Chance::new(7));
        one.below(100);
        assert_eq!(one.random(), other.random());
        assert_ne!(one.random(), one.random());
    }

    #[test]
    fn what_has_a_probability_happens_as_often() {
        let mut chance = Chance::new(1);
        let often = (0..10_000).filter(|_| chance.happens(0.25)).count();
        assert!((2_300..2_700).contains(&often), "{often}");
        assert!((0..1_000).all(|_| !chance.happens(0.0)));
        assert!((0..1_000).all(|_| chance.happens(1.0)));
    }
}
