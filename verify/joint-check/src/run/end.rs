//! How a run ended.

use std::string::String;

use super::{Fault, Lane, Panic, Run, Status};
use crate::graph::Id;

/// How a run ended.
pub(crate) enum Ended {
    Complete,
    Blocked,
    /// No write has a place.
    Dead,
    Failed(Failure),
}

/// A failing execution.
pub(crate) struct Failure {
    /// What is wrong, and the steps.
    pub(crate) text: String,
    /// What a thread panicked with.
    pub(crate) panic: Option<Panic>,
}

impl Run {
    fn failed(&self, fault: &Fault, panic: Option<Panic>) -> Ended {
        let text = self.report(fault);
        Ended::Failed(Failure { text, panic })
    }

    pub(super) fn ended(&mut self, panicked: Option<Panic>) -> Ended {
        if let Some(panic) = panicked {
            let text = panic.downcast_ref::<String>().map(|text| &**text);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let fault = Fault::Panic(text.unwrap_or("not with a text").to_owned());
            return self.failed(&fault, Some(panic));
        }
        if let Some(fault) = self.fault.take() {
            return self.failed(&fault, None);
        }
        if self.is_dead {
            return Ended::Dead;
        }
        if self.is_stuck() {
            return self.failed(&Fault::Deadlock, None);
        }
        if self.is_hopeless || self.unfinished().next().is_some() {
            return Ended::Blocked;
        }
        if !self.alive.is_empty() {
            return self.failed(&Fault::Leak, None);
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
        let can_end = !self.is_hopeless && !self.is_dead && self.fault.is_none();
        let mut left = self.unfinished().peekable();
        can_end
            && left.peek().is_some()
            && left.all(|(thread, lane)| self.waits_forever(thread, lane))
    }

    /// Whether a thread would find the same forever, because nobody has written anything else.
    fn waits_forever(&self, thread: u8, lane: &Lane) -> bool {
        let from = match lane.status {
            Status::Waiting => lane.at - 1,
            Status::Spinning => lane.at - lane.period,
            _ => return true,
        };
        let events = &self.graph.threads[usize::from(thread)];
        let round = &events[usize::from(from)..usize::from(lane.at)];
        let is_own = |id: Id| id.thread == thread && id.index >= from;
        let mut reads = round.iter().filter(|event| event.kind.is_read());
        reads.all(|read| {
            let last = self.graph.order(read.place).next_back();
            last == read.source || last.is_some_and(is_own)
        })
    }
}
