//! [`Agenda`]: what a step needs of the world before it begins, and writes once it has ended.

use std::{collections::VecDeque, mem};

use super::super::{
    chance::Chance,
    record::{Event, Record, What},
    scheduler::Chooser,
    tasks::{Due, Tasks, Work},
};

/// The tasks that are ready, how the next one is chosen, and the book in which that is kept. It is
/// one cell of the world, so a step looks once whether all of it is free. No code of a user runs
/// while it is in use.
pub(super) struct Agenda {
    pub(super) due: VecDeque<Due>,
    pub(super) chooser: Chooser,
    pub(super) chance: Chance,
    pub(super) record: Record,
    pub(super) tasks: Tasks,
}

impl Agenda {
    pub(super) fn new(chooser: Chooser, chance: Chance, record: Record) -> Self {
        Self {
            due: VecDeque::new(),
            chooser,
            chance,
            record,
            tasks: Tasks::default(),
        }
    }

    /// Chooses one of those that are ready, by its place. There must be one.
    #[inline(always)]
    pub(super) fn choose(&mut self) -> usize {
        self.chooser.choose(&self.due, &mut self.chance)
    }

    /// Takes the one at this place out. The first one takes its place.
    #[inline(always)]
    pub(super) fn take(&mut self, chosen: usize) -> Option<Due> {
        let first = self.due.pop_front()?;
        Some(match chosen {
            0 => first,
            _ => mem::replace(&mut self.due[chosen - 1], first),
        })
    }

    /// Notes that a step begins, at a time since the start.
    #[inline(always)]
    pub(super) fn begin(&mut self, due: &Due, step: u64, now: u64, at: u64) {
        let (actor, by) = (due.actor, due.by);
        let what = What::Ran { by };
        self.record.add(Event {
            at,
            step,
            actor,
            what,
        });
        let task = match due.work {
            Work::Task { key, .. } => self.tasks.by_key(key),
            _ => None,
        };
        if let Some(live) = task {
            live.since = now;
            live.ran = step;
            live.polls += 1;
            live.woken = by;
        }
    }

    /// Takes out all of this kind, in their order.
    pub(super) fn remove(&mut self, is_one: impl FnMut(&Due) -> bool) -> VecDeque<Due> {
        remove(&mut self.due, is_one)
    }
}

/// Takes all of this kind from a queue, in their order.
pub(super) fn remove(queue: &mut VecDeque<Due>, is_one: impl FnMut(&Due) -> bool) -> VecDeque<Due> {
    let (removed, others) = mem::take(queue).into_iter().partition(is_one);
    *queue = others;
    removed
}
