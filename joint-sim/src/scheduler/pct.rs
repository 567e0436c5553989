//! Probabilistic concurrency testing. What it guarantees is stated at
//! [`Scheduler::Pct`](super::Scheduler::Pct).

use std::{cmp::Reverse, collections::VecDeque};

use super::super::{
    chance::{About, Chance},
    record::Actor,
    tasks::Due,
};

/// Below this are the priorities of tasks that have fallen at a change point. Those that have given
/// way are below 0.
const FIRST: i64 = 1 << 32;
/// How often a task may yield in a row while others are ready. If every yield gave way, tasks that
/// yield would only ever take turns, and the guarantee would be void for them.
const PATIENCE: u32 = 64;

/// Where the priority of an actor is kept. What acts outside of all tasks has a place too, because
/// it can start a call that may block.
fn place(actor: Actor) -> usize {
    actor.0.wrapping_sub(Actor::OUTSIDE.0) as usize
}

pub(crate) struct Pct {
    depth: u32,
    /// The expected number of steps. The change points are among them.
    expected: u64,
    step: u64,
    /// The steps of the change points. At the n-th, a task falls to priority n, counted from 0.
    changes: Vec<u64>,
    /// The priorities, indexed by [`place`]. `None` if none has been drawn yet.
    priorities: Vec<Option<i64>>,
    /// The actor that was chosen last, and the number of its consecutive yields.
    yields: (Actor, u32),
    /// The priority of the task that has given way last.
    lowest: i64,
}

impl Pct {
    pub(super) fn new(depth: u32, expected: u64) -> Self {
        Self {
            depth,
            expected: expected.max(1),
            step: 0,
            changes: Vec::new(),
            priorities: Vec::new(),
            yields: (Actor::OUTSIDE, 0),
            lowest: 0,
        }
    }

    fn draw_changes(&mut self, chance: &mut Chance) {
        let mut draw = || {
            let random = u64::from(chance.plan()) << 32 | u64::from(chance.plan());
            // The remainder is not quite even, by less than `expected` in 2^64.
            random % self.expected + 1
        };
        self.changes = (1..self.depth).map(|_| draw()).collect();
    }

    /// Draws the priorities of the tasks that have just been spawned.
    fn draw_priorities(&mut self, due: &VecDeque<Due>, chance: &mut Chance) {
        for due in due {
            let place = place(due.actor);
            if place >= self.priorities.len() {
                self.priorities.resize(place + 1, None);
            }
            // Two tasks with the same number, one pair in 2^32, are as distinct as their places.
            self.priorities[place].get_or_insert_with(|| FIRST + i64::from(chance.plan()));
        }
    }

    fn highest(&self, due: &VecDeque<Due>) -> usize {
        let priority = |at: &usize| (self.priorities[place(due[*at].actor)], Reverse(*at));
        (0..due.len()).max_by_key(priority).unwrap_or(0)
    }

    /// Whether the task that is to run has yielded so often that it probably waits for another one.
    fn spins(&mut self, due: &Due) -> bool {
        let (last, yields) = self.yields;
        let in_a_row = match due.has_yielded() && due.actor == last {
            true => yields + 1,
            false => 0,
        };
        self.yields = (due.actor, in_a_row);
        in_a_row > PATIENCE
    }

    /// Chooses as [`Chooser::choose`](super::Chooser::choose) does.
    pub(super) fn choose(&mut self, due: &VecDeque<Due>, chance: &mut Chance) -> usize {
        if self.step == 0 {
            self.draw_changes(chance);
        }
        self.step += 1;
        if self.step > self.expected {
            return match due.len() {
                1 => 0,
                several => chance.below(About::Order, several),
            };
        }
        self.draw_priorities(due, chance);
        let mut chosen = self.highest(due);
        for (number, _) in (0..).zip(&self.changes).filter(|(_, at)| **at == self.step) {
            self.priorities[place(due[chosen].actor)] = Some(number);
            chosen = self.highest(due);
        }
        if due.len() > 1 && self.spins(&due[chosen]) {
            self.lowest -= 1;
            self.priorities[place(due[chosen].actor)] = Some(self.lowest);
            chosen = self.highest(due);
        }
        match due.len() {
            1 => 0,
            several => chance.decide(About::Order, several, |_| chosen),
        }
    }
}
