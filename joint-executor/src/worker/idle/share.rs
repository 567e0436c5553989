//! Which tasks a busy worker takes from another one, so that no task has fewer turns than others
//! because of the queue in which it lies.
//!
//! How long a worker's tasks wait for their turn is their number by the pace of its polls. If those
//! of another worker wait for more than four thirds as long as this worker's own, it takes its
//! **share**: after that, all wait for the same time. Tasks of high priority are compared with one
//! another, and so are the others. A worker that mostly runs tasks of high priority takes none of
//! the others, and half of those that it has are taken from it.
//!
//! A queue may be long for a moment, and a poll may be long once. So looks come in **rows** of
//! [`TURN`]. A queue counts with its smallest length in the row. If the own polls are
//! short, only the last look of a row takes tasks. The pace is a moving average over rows, and
//! counts only if one worker's is more than one and a half times the other's.
//!
//! # A pair of tasks
//! If there are nine tasks on eight workers, two of them share a worker, and have half the turns of
//! the others. The last look of a row knows that one of the two waits at any time, and not only
//! between two polls. A worker with a single task then takes it, and has a pair itself. So each
//! task is one of a pair only for some of the time.

use crate::policy::{MANY, TURN};

/// The looks of a worker at another one, or at itself.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The numbers of polls, and of tasks of high priority taken, before the row.
    before: [u32; 2],
    /// These numbers since then.
    turns: [u32; 2],
    /// The numbers of tasks that are queued: of high priority, and others.
    queued: [u32; 2],
    /// The smallest numbers in the row.
    least: [u32; 2],
    /// Whether at least half of the polls in the last row were of high priority.
    is_high: bool,
    /// How many polls of the worker that looks there are for how many of this one.
    pace: [u32; 2],
}

impl Row {
    pub(super) const NEW: Self = Self {
        before: [0; 2],
        turns: [0; 2],
        queued: [0; 2],
        least: [0; 2],
        is_high: false,
        pace: [TURN; 2],
    };

    /// Records the look with that index, after one at the worker that looks, which is `own`.
    pub(super) fn look(
        &mut self,
        turns: [u64; 2],
        queued: [usize; 2],
        look: u32,
        own: Option<&Self>,
    ) {
        for i in 0..2 {
            // Turns may wrap around: only differences count.
            let turns = turns[i] as u32;
            self.queued[i] = u32::try_from(queued[i]).unwrap_or(u32::MAX);
            if look == 0 {
                (self.before[i], self.least[i]) = (turns, self.queued[i]);
            }
            self.turns[i] = turns.wrapping_sub(self.before[i]);
            self.least[i] = self.least[i].min(self.queued[i]);
        }
        if look + 1 == TURN {
            let [polls, high] = self.turns;
            self.is_high = high > 0 && high >= polls / 2;
            // A worker without tasks has no turns, however fast it is.
            if let Some(own) = own.filter(|own| own.least[1].min(self.least[1]) > 0) {
                let now = [own.turns[0], polls];
                for (pace, now) in self.pace.iter_mut().zip(now) {
                    let mean = (3 * u64::from(*pace) + u64::from(now)) / 4;
                    *pace = mean.max(1) as u32;
                }
            }
        }
    }

    /// Returns how many tasks of each kind to take from this worker, for one that has `own`.
    pub(super) fn shares(&self, own: &Self, is_long: bool, is_last: bool) -> [usize; 2] {
        // If polls are long, the task that runs is not queued. It may be of any kind.
        let runs = u32::from(is_long);
        let high = self.share(own.queued[0], self.least[0], false);
        let others = match (own.is_high, self.is_high) {
            (true, false) => 0,
            (false, true) => MANY,
            _ => {
                let theirs = self.least[1].saturating_add(runs);
                self.share(own.queued[1], theirs, is_long && is_last)
            }
        };
        [high, others]
    }

    fn share(&self, own: u32, theirs: u32, rounds_up: bool) -> usize {
        let [own_pace, pace] = self.pace;
        let [own_pace, pace] = match [u64::from(own_pace), u64::from(pace)] {
            [a, b] if 2 * a.max(b) > 3 * a.min(b) => [a, b],
            _ => [1; 2],
        };
        // Both in proportion to the time that the tasks wait.
        let (own, theirs) = (u64::from(own) * pace, u64::from(theirs) * own_pace);
        if 3 * theirs <= 4 * own {
            return 0;
        }
        let both = own_pace + pace;
        let share = match rounds_up {
            true => (theirs - own).div_ceil(both),
            false => (theirs - own) / both,
        };
        MANY.min(share as usize)
    }
}
