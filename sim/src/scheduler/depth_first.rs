//! All schedules of a program, one run each.

use alloc::{collections::VecDeque, rc::Rc, vec::Vec};
use core::cell::RefCell;

use super::{
    super::{
        chance::{About, Chance},
        record::Actor,
        tasks::Due,
    },
    Strategy, place,
};

/// A choice of the run that is under way, or was last.
#[derive(Clone, Copy)]
struct Branch {
    /// The rank of the chosen task among the allowed ones.
    rank: usize,
    allowed: usize,
    /// The task that was chosen.
    actor: Actor,
}

/// The time since which a task has been ready.
#[derive(Clone, Copy)]
struct Turn {
    /// Its position in the order in which tasks have become ready.
    since: u64,
    /// The last choice at which it was ready.
    choice: u64,
}

/// Where a search through all schedules is.
pub(crate) struct Search {
    /// The choices between several tasks, from the start of the run.
    path: Vec<Branch>,
    /// The largest number of preemptions in a run.
    most_preemptions: u32,
    run: Run,
}

/// The course of this run so far.
#[derive(Default)]
struct Run {
    /// The number of choices between several tasks.
    branches: usize,
    preemptions: u32,
    /// The number of choices, even if there was only one task.
    choices: u64,
    /// The number of times that a task has become ready.
    wakes: u64,
    /// The turns, indexed by [`place`].
    turns: Vec<Option<Turn>>,
    /// Whether a choice differed from that of the previous run in the same place.
    differs: bool,
}

impl Run {
    /// Takes note of what is ready, and returns the tasks in the order in which they became so.
    fn line_up(&mut self, due: &VecDeque<Due>) -> Vec<usize> {
        self.choices += 1;
        for Due { actor, .. } in due {
            let place = place(*actor);
            if place >= self.turns.len() {
                self.turns.resize(place + 1, None);
            }
            let known = self.turns[place].filter(|turn| turn.choice + 1 == self.choices);
            let since = known.map_or(self.wakes, |turn| turn.since);
            self.wakes += u64::from(known.is_none());
            let choice = self.choices;
            self.turns[place] = Some(Turn { since, choice });
        }
        let mut line: Vec<_> = (0..due.len()).collect();
        line.sort_by_key(|&at| self.turns[place(due[at].actor)].map(|turn| turn.since));
        line
    }
}

impl Search {
    pub(crate) fn new(most_preemptions: u32) -> Self {
        Self {
            path: Vec::new(),
            most_preemptions,
            run: Run::default(),
        }
    }

    /// Whether the run that has ended made other choices than the run before, up to the first one
    /// that was to differ.
    pub(crate) fn has_diverged(&self) -> bool {
        self.run.differs || self.run.branches < self.path.len()
    }

    /// Goes on to the next schedule. Returns whether there is one.
    pub(crate) fn advance(&mut self) -> bool {
        self.run = Run::default();
        while let Some(branch) = self.path.last_mut() {
            branch.rank += 1;
            if branch.rank < branch.allowed {
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn choose(&mut self, due: &VecDeque<Due>) -> usize {
        let line = self.run.line_up(due);
        let chosen = match line[..] {
            [only] => only,
            _ => self.branch(due, &line),
        };
        // If it is ready the next time, it has become ready anew.
        self.run.turns[place(due[chosen].actor)] = None;
        chosen
    }

    /// Chooses one of several tasks, which are in the order in which they became ready.
    fn branch(&mut self, due: &VecDeque<Due>, line: &[usize]) -> usize {
        // The first one was ready before all others, so it has given way to nobody.
        let preempts = |at: &usize| *at != line[0] && due[*at].has_yielded();
        let (preempting, mut allowed): (Vec<_>, Vec<_>) = line.iter().partition(|at| preempts(at));
        if self.run.preemptions < self.most_preemptions {
            allowed.extend(preempting);
        }
        let known = self.path.get(self.run.branches);
        let rank = known.map_or(0, |branch| branch.rank);
        let rank = rank.min(allowed.len() - 1);
        let chosen = allowed[rank];
        let branch = Branch {
            rank,
            allowed: allowed.len(),
            actor: due[chosen].actor,
        };
        let is_new = self.run.branches + 1 >= self.path.len();
        match self.path.get_mut(self.run.branches) {
            Some(before) => {
                let differs = before.allowed != branch.allowed;
                self.run.differs |= differs || (!is_new && before.actor != branch.actor);
                *before = branch;
            }
            None => self.path.push(branch),
        }
        self.run.branches += 1;
        self.run.preemptions += u32::from(preempts(&chosen));
        chosen
    }
}

/// A run of a search.
pub(crate) struct DepthFirst(pub(crate) Rc<RefCell<Search>>);

impl Strategy for DepthFirst {
    fn choose(&mut self, due: &VecDeque<Due>, chance: &mut Chance) -> usize {
        let chosen = self.0.borrow_mut().choose(due);
        match due.len() {
            1 => 0,
            several => chance.decide(About::Order, several, |_| chosen),
        }
    }
}
