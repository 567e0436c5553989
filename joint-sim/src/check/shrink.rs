//! Makes the decisions of a failing run tame, as far as the failure remains.
//!
//! At first the program draws what its seed says. Once the other decisions are as tame as they can
//! be, what it draws is made smaller, and set. Only what the last run has drawn is set, so a loop
//! that draws until it likes a number goes on with those of the seed.

use super::super::chance::{About, Decision};

/// The largest number of steps of all runs by which a failure is shrunk.
pub(super) const STEPS: u64 = 2_000_000;

/// Returns the decisions that a run has made if it has failed in the same way.
type Fails<'a> = &'a mut dyn FnMut(&[Decision]) -> Option<Vec<Decision>>;

/// Shrinks the decisions of a run that has failed, by at most this number of runs. Returns them up
/// to the last that is not the tamest.
pub(super) fn shrink(decisions: &[Decision], most_runs: u32, fails: Fails<'_>) -> Vec<Decision> {
    let mut shrinking = Shrinking {
        best: trimmed(decisions, false),
        made: decisions.to_vec(),
        sets_draws: false,
        runs: 0,
        most_runs,
        fails,
    };
    shrinking.rounds();
    shrinking.sets_draws = true;
    shrinking.best = trimmed(&shrinking.made, true);
    shrinking.rounds();
    shrinking.best
}

struct Shrinking<'a> {
    best: Vec<Decision>,
    /// All decisions of the run that made the best ones.
    made: Vec<Decision>,
    /// Whether what the program draws is among the decisions.
    sets_draws: bool,
    runs: u32,
    most_runs: u32,
    fails: Fails<'a>,
}

/// Drops the tamest decisions at the end, which are made anyway.
fn trimmed(decisions: &[Decision], with_draws: bool) -> Vec<Decision> {
    let is_draw = |one: &Decision| one.about == About::Draw;
    let mut decisions = decisions.to_vec();
    decisions.retain(|one| with_draws || !is_draw(one));
    let wild = decisions
        .iter()
        .rposition(|one| one.made != 0 || is_draw(one));
    decisions.truncate(wild.map_or(0, |last| last + 1));
    decisions
}

/// Returns a measure of how hard a run is to understand.
fn weight(decisions: &[Decision]) -> (usize, usize, u128) {
    let wild = decisions.iter().filter(|one| one.made != 0).count();
    let sum = decisions.iter().map(|one| u128::from(one.made)).sum();
    (wild, decisions.len(), sum)
}

/// Programs use most of what they draw modulo a number, which one of these may be a multiple of.
const MODULI: [u64; 8] = [10, 100, 256, 1_000, 5_040, 10_000, 1 << 16, 1_000_000];

impl Shrinking<'_> {
    fn weight(&self) -> (usize, usize, u128) {
        weight(&self.best)
    }

    /// Makes the run tamer until that is over.
    fn rounds(&mut self) {
        let mut before = None;
        while before != Some(self.weight()) && self.runs < self.most_runs {
            before = Some(self.weight());
            self.cut_tail();
            self.tame();
            if !self.sets_draws {
                self.remove();
            }
            self.lower();
        }
    }

    /// Tries other decisions. Returns whether they are better.
    fn attempt(&mut self, decisions: &[Decision]) -> bool {
        if self.runs == self.most_runs {
            return false;
        }
        self.runs += 1;
        // What the run really made counts: a decision may be too large for its place.
        let Some(made) = (self.fails)(decisions) else {
            return false;
        };
        let better = trimmed(&made, self.sets_draws);
        let is_better = weight(&better) < self.weight();
        if is_better {
            (self.best, self.made) = (better, made);
        }
        is_better
    }

    /// Finds a short start of the run after which only the tamest decisions are made. It begins
    /// with the shortest ones, because those of a run that does not stop are followed by thousands
    /// that do not matter.
    fn cut_tail(&mut self) {
        let (mut passes, mut fails) = (0, self.best.len());
        // With nothing left of the decisions, the program fails on its own.
        if fails > 0 && self.attempt(&[]) {
            return;
        }
        while passes + 1 < fails {
            let middle = passes.midpoint(fails).min(8 * (passes + 1));
            let start = self.best[..middle.min(self.best.len())].to_vec();
            match self.attempt(&start) {
                true => fails = middle.min(self.best.len()),
                false => passes = middle,
            }
        }
    }

    fn wild(&self) -> Vec<usize> {
        let wild = self
            .best
            .iter()
            .enumerate()
            .filter(|(_, one)| one.made != 0);
        wild.map(|(at, _)| at).collect()
    }

    /// Makes the tamest choice instead of several decisions at once, and at last of single ones.
    fn tame(&mut self) {
        let mut size = self.wild().len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            loop {
                let wild = self.wild();
                let Some(chunk) = wild.get(at..).filter(|rest| !rest.is_empty()) else {
                    break;
                };
                let mut tamer = self.best.clone();
                for &place in &chunk[..size.min(chunk.len())] {
                    tamer[place].made = 0;
                }
                if !self.attempt(&tamer) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    /// Leaves out decisions, so that the later ones come earlier.
    fn remove(&mut self) {
        let mut size = self.best.len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < self.best.len() {
                let end = (at + size).min(self.best.len());
                let shorter = [&self.best[..at], &self.best[end..]].concat();
                if !self.attempt(&shorter) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    /// Makes decisions that are closer to the tamest.
    fn lower(&mut self) {
        let mut at = 0;
        while let Some(&Decision { about, made }) = self.best.get(at) {
            let few = if about == About::Draw { 16 } else { 1 };
            let rests = MODULI.iter().map(|modulus| made % modulus);
            let mut less = (1..=few)
                .chain(rests)
                .filter(|&less| 0 < less && less < made);
            less.any(|less| self.set(at, less));
            self.bisect(at);
            at += 1;
        }
    }

    fn set(&mut self, at: usize, made: u64) -> bool {
        let mut lower = self.best.clone();
        lower[at].made = made;
        self.attempt(&lower)
    }

    /// Looks for the least decision with which the run fails, if it fails with all larger ones.
    fn bisect(&mut self, at: usize) {
        let mut passes = 0;
        while let Some(fails) = self.best.get(at).filter(|one| passes + 1 < one.made) {
            let middle = passes.midpoint(fails.made);
            if !self.set(at, middle) {
                passes = middle;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(made: impl IntoIterator<Item = u64>) -> Vec<Decision> {
        let decision = |made| Decision {
            about: About::Order,
            made,
        };
        made.into_iter().map(decision).collect()
    }

    #[test]
    fn only_the_decisions_that_matter_are_left() {
        let long = decisions((0..500).map(|n| n % 7));
        let mut fails = |made: &[Decision]| {
            let at = |place: usize| made.get(place).map_or(0, |one| one.made);
            (at(100) >= 2 && at(101) != 0).then(|| made.to_vec())
        };
        let shrunk = shrink(&long, 2_000, &mut fails);
        let mut expected = vec![0; 102];
        (expected[100], expected[101]) = (2, 1);
        assert_eq!(shrunk, decisions(expected));
    }

    #[test]
    fn shrinking_moves_late_decisions_forward() {
        // It fails if there is a 3 at all.
        let mut late = vec![0; 64];
        late[63] = 3;
        let shrunk = shrink(&decisions(late), 2_000, &mut |made| {
            made.iter().any(|one| one.made == 3).then(|| made.to_vec())
        });
        assert_eq!(shrunk, decisions([3]));
    }

    #[test]
    fn the_number_of_runs_is_bounded() {
        let mut runs = 0;
        let shrunk = shrink(&decisions([1; 100]), 7, &mut |_| {
            runs += 1;
            None
        });
        assert_eq!((shrunk.len(), runs), (100, 7));
    }
}
