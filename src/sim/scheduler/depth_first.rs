//! All schedules of a program, one run each.

use alloc::{collections::VecDeque, rc::Rc, vec::Vec};
use core::cell::RefCell;

use super::{
    super::{chance::Chance, record::Actor, world::Due},
    Strategy,
};

/// A choice of the run that is under way, or was last.
#[derive(Clone, Copy)]
struct Branch {
    /// Which of the allowed tasks was chosen.
    rank: usize,
    allowed: usize,
    /// The task that was chosen.
    actor: Actor,
}

/// Where a search through all schedules is.
pub(in crate::sim) struct Search {
    /// The choices between several tasks, from the start of the run.
    path: Vec<Branch>,
    /// The largest number of preemptions in a run.
    most_preemptions: u32,
    /// The number of choices and preemptions of this run so far.
    choices: usize,
    preemptions: u32,
    /// Whether a choice was not the one that the run before had in the same place.
    differs: bool,
}

impl Search {
    pub(in crate::sim) fn new(most_preemptions: u32) -> Self {
        Self {
            path: Vec::new(),
            most_preemptions,
            choices: 0,
            preemptions: 0,
            differs: false,
        }
    }

    /// Whether the run that has ended made other choices than the run before, up to the first one
    /// that was to differ.
    pub(in crate::sim) fn has_diverged(&self) -> bool {
        self.differs || self.choices < self.path.len()
    }

    /// Goes on to the next schedule. Returns whether there is one.
    pub(in crate::sim) fn advance(&mut self) -> bool {
        (self.choices, self.preemptions) = (0, 0);
        while let Some(branch) = self.path.last_mut() {
            branch.rank += 1;
            if branch.rank < branch.allowed {
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn choose(&mut self, due: &VecDeque<Due>, last: Actor) -> usize {
        let goes_on = |at: &usize| due[*at].actor == last;
        let can_go_on = (0..due.len()).filter(goes_on).count();
        let may_preempt = self.preemptions < self.most_preemptions;
        let allowed = match can_go_on {
            0 => due.len(),
            _ if may_preempt => due.len(),
            several => several,
        };
        let rank = self.path.get(self.choices).map_or(0, |branch| branch.rank);
        let rank = rank.min(allowed - 1);
        let rest = (0..due.len()).filter(|at| !goes_on(at));
        let chosen = (0..due.len()).filter(goes_on).chain(rest).nth(rank);
        let chosen = chosen.expect("each rank below the number of tasks has a task");
        let actor = due[chosen].actor;
        let is_new = self.choices + 1 >= self.path.len();
        match self.path.get_mut(self.choices) {
            Some(branch) => {
                self.differs |= branch.allowed != allowed || (!is_new && branch.actor != actor);
                branch.actor = actor;
            }
            None => self.path.push(Branch {
                rank,
                allowed,
                actor,
            }),
        }
        self.choices += 1;
        self.preemptions += u32::from(can_go_on > 0 && rank >= can_go_on);
        chosen
    }
}

/// A run of a search.
pub(in crate::sim) struct DepthFirst(pub(in crate::sim) Rc<RefCell<Search>>);

impl Strategy for DepthFirst {
    fn choose(&mut self, due: &VecDeque<Due>, last: Actor, chance: &mut Chance) -> usize {
        if due.len() == 1 {
            return 0;
        }
        let chosen = self.0.borrow_mut().choose(due, last);
        chance.decide(due.len(), |_| chosen)
    }
}
