//! Makes the decisions of a failing run tame, as far as the failure remains.

use alloc::vec::Vec;

use super::super::chance::Decision;

/// The largest number of steps of all runs by which a failure is shrunk.
pub(super) const STEPS: u64 = 2_000_000;

/// The result of shrinking.
pub(super) struct Shrunk {
    /// The decisions, up to the last that is not the tamest.
    pub(super) decisions: Vec<Decision>,
    /// The number of runs that it took.
    pub(super) runs: u32,
}

/// Returns the decisions that a run has made if it has failed in the same way.
type Fails<'a> = &'a mut dyn FnMut(&[Decision]) -> Option<Vec<Decision>>;

/// Shrinks the decisions of a run that has failed, by at most this number of runs.
pub(super) fn shrink(decisions: &[Decision], most_runs: u32, fails: Fails<'_>) -> Shrunk {
    let mut shrinking = Shrinking {
        best: trimmed(decisions.to_vec()),
        runs: 0,
        most_runs,
        fails,
    };
    let mut before = None;
    while before != Some(shrinking.weight()) && shrinking.runs < most_runs {
        before = Some(shrinking.weight());
        shrinking.cut_tail();
        shrinking.tame();
        shrinking.remove();
        shrinking.lower();
    }
    Shrunk {
        decisions: shrinking.best,
        runs: shrinking.runs,
    }
}

struct Shrinking<'a> {
    best: Vec<Decision>,
    runs: u32,
    most_runs: u32,
    fails: Fails<'a>,
}

/// Drops the tamest decisions at the end, which are made anyway.
fn trimmed(mut decisions: Vec<Decision>) -> Vec<Decision> {
    let wild = decisions.iter().rposition(|one| one.made != 0);
    decisions.truncate(wild.map_or(0, |last| last + 1));
    decisions
}

/// Returns a measure of how hard a run is to understand.
fn weight(decisions: &[Decision]) -> (usize, usize, u64) {
    let wild = decisions.iter().filter(|one| one.made != 0).count();
    let sum = decisions.iter().map(|one| u64::from(one.made)).sum();
    (wild, decisions.len(), sum)
}

impl Shrinking<'_> {
    fn weight(&self) -> (usize, usize, u64) {
        weight(&self.best)
    }

    /// Tries other decisions. Returns whether they are better.
    fn attempt(&mut self, decisions: &[Decision]) -> bool {
        if self.runs == self.most_runs {
            return false;
        }
        self.runs += 1;
        // What the run really made counts: a decision may be too large for its place.
        let made = (self.fails)(decisions).map(trimmed);
        let better = made.filter(|made| weight(made) < self.weight());
        let is_better = better.is_some();
        if let Some(better) = better {
            self.best = better;
        }
        is_better
    }

    /// Finds a short start of the run after which only the tamest decisions are made.
    fn cut_tail(&mut self) {
        let (mut passes, mut fails) = (0, self.best.len());
        // With nothing left of the decisions, the program fails on its own.
        if fails > 0 && self.attempt(&[]) {
            return;
        }
        while passes + 1 < fails {
            let middle = passes.midpoint(fails);
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
        while at < self.best.len() {
            let made = self.best[at].made;
            for less in [1, made / 2, made.saturating_sub(1)] {
                let mut lower = self.best.clone();
                lower[at].made = less;
                if 0 < less && less < made && self.attempt(&lower) {
                    break;
                }
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::chance::About, *};

    fn decisions(made: impl IntoIterator<Item = u32>) -> Vec<Decision> {
        let decision = |made| Decision {
            about: About::Order,
            made,
        };
        made.into_iter().map(decision).collect()
    }

    #[test]
    fn only_the_decisions_that_matter_are_left() {
        let long = decisions((0..500).map(|n| n % 7));
        let mut runs = 0;
        let mut fails = |made: &[Decision]| {
            runs += 1;
            let at = |place: usize| made.get(place).map_or(0, |one| one.made);
            (at(100) >= 2 && at(101) != 0).then(|| made.to_vec())
        };
        let shrunk = shrink(&long, 2_000, &mut fails);
        let mut expected = vec![0; 102];
        (expected[100], expected[101]) = (2, 1);
        assert_eq!(shrunk.decisions, decisions(expected));
        assert_eq!(shrunk.runs, runs);
    }

    #[test]
    fn shrinking_moves_late_decisions_forward() {
        // It fails if there is a 3 at all.
        let mut late = vec![0; 64];
        late[63] = 3;
        let shrunk = shrink(&decisions(late), 2_000, &mut |made| {
            made.iter().any(|one| one.made == 3).then(|| made.to_vec())
        });
        assert_eq!(shrunk.decisions, decisions([3]));
    }

    #[test]
    fn a_failure_without_decisions_needs_none() {
        let shrunk = shrink(&decisions([1, 2, 3]), 10, &mut |made| Some(made.to_vec()));
        assert_eq!((shrunk.decisions, shrunk.runs), (Vec::new(), 1));
    }

    #[test]
    fn the_number_of_runs_is_bounded() {
        let shrunk = shrink(&decisions([1; 100]), 7, &mut |_| None);
        assert_eq!((shrunk.decisions.len(), shrunk.runs), (100, 7));
    }
}
