//! How a run ended.

use core::panic::Location;
use std::string::String;

use super::{Fault, Lane, Panic, Phase, Run, Status, free::Trial};
use crate::graph::{Id, Op};

pub(crate) enum Ended {
    Complete,
    /// A thread waits for a write that other executions have.
    Blocked,
    /// A write had no place, so this was no execution.
    Dead,
    Failed(Failure),
    /// The model looks at a count that was made here: its changes have an order from now on.
    Again(&'static Location<'static>),
    /// A trial has come to the drop. Std's `Arc` orders these accesses before it.
    Tried(Vec<Id>),
    /// A drop seems too early, which a trial decides.
    Doubtful(Box<Trial>),
    /// A lazy static is used that the graph has no word for, by its address.
    Discovered(usize),
}

pub(crate) struct Failure {
    /// What is wrong, and the steps.
    pub(crate) text: String,
    /// What a thread panicked with.
    pub(crate) panic: Option<Panic>,
}

impl Run {
    fn failure(&self, fault: &Fault, panic: Option<Panic>) -> Failure {
        let text = self.report(fault);
        Failure { text, panic }
    }

    pub(super) fn ended(&mut self, panicked: Option<Panic>) -> Ended {
        if let Some(panic) = panicked {
            let text = panic.downcast_ref::<String>().map(|text| &**text);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let fault = Fault::Panic(text.unwrap_or("not with a text").to_owned());
            return Ended::Failed(self.failure(&fault, Some(panic)));
        }
        match core::mem::take(&mut self.phase) {
            Phase::Failed(Fault::Look(made)) => return Ended::Again(made),
            Phase::Failed(fault) => {
                return Ended::Failed(self.failure(&fault, None));
            }
            Phase::Tried(ordered) => return Ended::Tried(ordered),
            Phase::Doubtful(trial) => return Ended::Doubtful(trial),
            Phase::Discovered(key) => return Ended::Discovered(key),
            Phase::Trying(_) => return Ended::Blocked,
            Phase::Dead => return Ended::Dead,
            Phase::Blocked => return Ended::Blocked,
            _ => {}
        }
        if self.is_stuck() {
            return Ended::Failed(self.failure(&Fault::Deadlock, None));
        }
        if self.unfinished().next().is_some() {
            return Ended::Blocked;
        }
        if !self.alive.is_empty() {
            return Ended::Failed(self.failure(&Fault::Leak, None));
        }
        Ended::Complete
    }

    pub(super) fn unfinished(&self) -> impl Iterator<Item = (u8, &Lane)> {
        let is_unfinished = |lane: &Lane| !matches!(lane.status, Status::Absent | Status::Finished);
        let all = (0..).zip(&self.lanes);
        all.filter(move |(_, lane)| is_unfinished(lane))
    }

    /// Whether threads are left, and all of them wait forever.
    pub(super) fn is_stuck(&self) -> bool {
        let mut left = self.unfinished().peekable();
        !self.phase.is_over()
            && left.peek().is_some()
            && left.all(|(thread, lane)| self.waits_forever(thread, lane))
    }

    /// Whether a thread would read the same forever, because no other write is newer.
    fn waits_forever(&self, thread: u8, lane: &Lane) -> bool {
        let from = match lane.status {
            Status::Waiting => lane.at - 1,
            Status::Spinning => lane.at - lane.period,
            Status::Left => return false,
            _ => return true,
        };
        let events = &self.graph.threads[usize::from(thread)];
        let waits_at = events[usize::from(from)].op();
        if lane.status == Status::Waiting && matches!(waits_at, Some(Op::Confirm { .. })) {
            return false;
        }
        let round = &events[usize::from(from)..usize::from(lane.at)];
        let is_own = |id: Id| id.thread == thread && id.index >= from;
        let mut reads = round.iter().filter(|event| event.kind.is_read());
        reads.all(|read| {
            let last = self.graph.order(read.place).next_back();
            last == read.source || last.is_some_and(is_own)
        })
    }
}
