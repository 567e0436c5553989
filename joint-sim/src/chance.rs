//! Where decisions come from: a stream of random numbers, or the decisions of an earlier run.
//!
//! Each decision is a number below a bound. Zero is always the tamest choice, such as the task that
//! has been ready for longest, or no fault. A run that is replayed from a list of decisions makes
//! the tamest choices once the list has ended, so a list can be shortened.
//!
//! A random number that the program draws is also a decision, but no number is the tamest for
//! every program: a loop may draw until it gets one that it accepts. Such a loop ends in a replay,
//! too, because the program draws from its seed once the list has ended.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// The numbers of the random streams of one seed.
const DECISIONS: u64 = 0;
const PROGRAM: u64 = 1;

/// The kind of a decision. In a replay, the decisions of each kind are made in their own order.
/// So if one is left out, or no longer asked for, those of the other kinds stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// The choice of the next task.
    Order,
    /// The delay of a timer or a wake-up.
    Delay,
    /// A fault of a poll: no reason to poll, a small budget, a panic, or a cancellation.
    Poll,
    /// Whether a fault site of the program is active, or fires.
    Site,
    /// The fate of a message in the network.
    Network,
    /// What becomes of a write to a disk.
    Disk,
    /// A number that the program draws.
    Draw,
    /// Whether a task of `spawn_now` is queued, instead of its first poll at once.
    Start,
    /// A crash of a host, a cut of its links, or a time that its clocks are set to.
    Host,
}

impl About {
    /// All of them, each with its letter in the text of a plan.
    pub(super) const ALL: [(Self, char); 9] = [
        (Self::Order, 'o'),
        (Self::Delay, 'd'),
        (Self::Poll, 'p'),
        (Self::Site, 's'),
        (Self::Network, 'n'),
        (Self::Disk, 'f'),
        (Self::Draw, 'r'),
        (Self::Start, 't'),
        (Self::Host, 'h'),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) about: About,
    pub(super) made: u64,
}

impl Decision {
    /// Returns whether it is not the tamest. No draw is tame, and none counts.
    pub(super) fn is_wild(&self) -> bool {
        self.made != 0 && self.about != About::Draw
    }
}

/// The number of draws of a program that are decisions. The others are always the seed's.
const MOST_DRAWS: u64 = 1 << 12;

/// The decisions of one kind to make, and how many of them were made.
type Replayed = (Vec<u64>, usize);

pub(super) struct Chance {
    decisions: ChaCha8Rng,
    /// The program's own draws. Their kind has a stream of its own, so that a run with fewer
    /// decisions draws the same numbers.
    program: ChaCha8Rng,
    /// The script, or `None` if decisions are drawn and not kept.
    script: Option<Box<Script>>,
}

#[derive(Default)]
struct Script {
    /// The decisions to make instead of drawing them.
    replayed: Option<[Replayed; About::ALL.len()]>,
    /// Whether decisions are drawn after those, instead of the tamest.
    draws_after: bool,
    /// The decisions that were made, if they are kept.
    made: Option<Vec<Decision>>,
    /// How often the program has drawn, up to the limit.
    draws: u64,
}

impl Script {
    /// Draws a decision in `0..=most` by `draw`, unless a replay supplies it.
    fn decide(&mut self, about: About, most: u64, draw: impl FnOnce() -> u64) -> u64 {
        let made = match &mut self.replayed {
            None => draw(),
            Some(replayed) => {
                let (list, next) = &mut replayed[about as usize];
                let replayed = list.get(*next).copied();
                *next += 1;
                match replayed {
                    Some(made) => made.min(most),
                    None if self.draws_after || about == About::Draw => draw(),
                    None => 0,
                }
            }
        };
        if let Some(all) = &mut self.made {
            all.push(Decision { about, made });
        }
        made
    }
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
            script: None,
        }
    }

    pub(super) fn replay(&mut self, decisions: &[Decision]) {
        let of = |about| decisions.iter().filter(move |one| one.about == about);
        let made = About::ALL.map(|(about, _)| (of(about).map(|one| one.made).collect(), 0));
        self.script.get_or_insert_default().replayed = Some(made);
    }

    /// After the decisions that it replays, draws those that this seed decides. Of each kind, the
    /// tamest at the end are drawn too.
    pub(super) fn draw_after(&mut self, seed: u64) {
        self.decisions = Self::new(seed).decisions;
        let script = self.script.get_or_insert_default();
        script.draws_after = true;
        for (list, _) in script.replayed.iter_mut().flatten() {
            let wild = list.iter().rposition(|&made| made != 0);
            list.truncate(wild.map_or(0, |last| last + 1));
        }
    }

    pub(super) fn keep(&mut self) {
        self.script.get_or_insert_default().made = Some(Vec::new());
    }

    pub(super) fn made(&mut self) -> Vec<Decision> {
        let script = self.script.as_mut();
        script
            .and_then(|script| script.made.take())
            .unwrap_or_default()
    }

    /// Decides for a number below `bound`, which is not 0. `draw` chooses one, with a source of
    /// random numbers.
    #[inline(always)]
    pub(super) fn decide(
        &mut self,
        about: About,
        bound: usize,
        draw: impl FnOnce(&mut dyn FnMut() -> u32) -> usize,
    ) -> usize {
        let draw = || draw(&mut || self.decisions.next_u32());
        match &mut self.script {
            None => draw(),
            Some(script) => script.decide(about, bound as u64 - 1, || draw() as u64) as usize,
        }
    }

    /// Decides for any number below `bound`, all of which are equally likely.
    #[inline(always)]
    pub(super) fn below(&mut self, about: About, bound: usize) -> usize {
        self.decide(about, bound, |draw| scaled(draw(), bound))
    }

    pub(super) fn happens(&mut self, about: About, probability: f64) -> bool {
        // Nothing is drawn for what is switched off, so that it does not change the rest.
        if probability <= 0.0 {
            return false;
        }
        self.decide(about, 2, |draw| usize::from(hits(draw(), probability))) == 1
    }

    /// A random number that is no decision itself: what a scheduler plans with.
    pub(super) fn plan(&mut self) -> u32 {
        self.decisions.next_u32()
    }

    /// Returns the program's next random number, and whether it is a decision that may be kept.
    pub(super) fn random(&mut self) -> (u64, bool) {
        let seeds = self.program.next_u64();
        match &mut self.script {
            Some(script) if script.draws < MOST_DRAWS => {
                script.draws += 1;
                (script.decide(About::Draw, u64::MAX, || seeds), true)
            }
            _ => (seeds, false),
        }
    }
}

/// Returns whether a random number stands for something that has this probability.
pub(super) fn hits(random: u32, probability: f64) -> bool {
    f64::from(random) < probability * 4_294_967_296.0
}

#[inline]
fn scaled(random: u32, bound: usize) -> usize {
    let bound = u64::try_from(bound).unwrap_or(u64::MAX);
    usize::try_from((u64::from(random) * bound) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{About::*, *};

    #[test]
    fn a_decision_that_is_left_out_moves_none_of_another_kind() {
        let mut first = Chance::new(7);
        first.keep();
        let made: Vec<_> = (0..40)
            .map(|n| first.below([Order, Network][n % 2], 1000))
            .collect();
        let mut decisions = first.made();
        decisions.remove(0);
        let mut again = Chance::new(8);
        again.replay(&decisions);
        let of_network = made.iter().skip(1).step_by(2);
        assert!(of_network.eq(&[(); 20].map(|()| again.below(Network, 1000))));
        assert_eq!(again.below(Order, 1000), made[2]);
    }

    #[test]
    fn a_program_draws_the_same_whatever_is_decided() {
        let (mut one, mut other) = (Chance::new(7), Chance::new(7));
        one.below(Order, 100);
        assert_eq!(one.random(), other.random());
        assert_ne!(one.random(), one.random());
    }
}
