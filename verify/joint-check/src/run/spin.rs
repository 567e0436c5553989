//! Loops that wait: a thread that does in one round what it did before is blocked until another
//! thread writes. In a graph of its own it goes on, because the loop may give up after some rounds.

use super::{Answer, Attempt, Fault, Run, Status};
use crate::{
    explore,
    graph::{Event, Graph, Id},
};

/// After so many rounds without anything new, a loop is taken to be endless.
const PATIENCE: u8 = 100;
/// A thread waits after this many rounds that differ only in what it counts itself. This is a
/// bound: the count could matter if a later round found a write.
const COUNTED: usize = 8;

/// A thread that goes on in a loop.
#[derive(Default)]
pub(super) struct Patient {
    /// The steps of a round.
    pub(super) period: u16,
    rounds: u8,
    /// The graphs that are left to explore, if the loop has an end.
    pub(super) held: Vec<Graph>,
    /// The graph before, if this only finds out whether the loop has an end.
    before: Option<Graph>,
}

const PASS: Attempt = Attempt::Done(Answer {
    id: Id::ROOT,
    value: 0,
});

impl Run {
    /// Begins another round, unless the last two were the same.
    ///
    /// Two rounds are the same if they did the same, wrote the same, and read from the same writes
    /// of other threads and the same writes of their own. A loop may therefore take locks. After
    /// a few rounds, those that wrote other values, as where each is counted, are taken to be the
    /// same.
    pub(super) fn look_again(&mut self) -> Attempt {
        let lane = &mut self.lanes[usize::from(self.current)];
        lane.idle += 1;
        if lane.idle > self.limits.events {
            let text = "a loop looks again and reads nothing: it waits for something that the model \
                        does not see";
            self.fault = Some(Fault::Limit(text.into()));
            return Attempt::Wait;
        }
        if lane.looks.last() == Some(&lane.at) {
            return PASS;
        }
        let events = &self.graph.threads[usize::from(self.current)];
        let done = &events[..usize::from(lane.at)];
        // A round may have looks in its middle, and loops.
        let periods = lane.looks.iter().rev().map(|look| lane.at - look);
        let patient = self.patient.iter().map(|patient| patient.period);
        let mut periods = patient.chain(periods);
        let alike = |period: u16| Some((period, wrote_the_same(done, period.into())?));
        let found = periods.find_map(alike);
        let counts = found.is_some_and(|(_, is_equal)| !is_equal);
        lane.counted = if counts { lane.counted + 1 } else { 0 };
        let is_same = !counts || lane.counted >= COUNTED;
        let is_new = done.len() == events.len();
        let attempt = match found {
            Some((period, _)) if is_same && is_new => self.find_the_same(period),
            _ => {
                self.leave();
                if self.is_hopeless {
                    Attempt::Wait
                } else {
                    PASS
                }
            }
        };
        if let Attempt::Done(_) = attempt {
            let lane = self.lane();
            lane.looks.push(lane.at);
        }
        attempt
    }

    /// Waits, or goes on in a graph that is for that.
    fn find_the_same(&mut self, period: u16) -> Attempt {
        let thread = self.current;
        let n = usize::from(thread);
        let lane = &mut self.lanes[n];
        let next = lane.at;
        lane.period = period;
        if let Some(guide) = &self.guide {
            if guide.front().is_some_and(|&(first, _)| first == thread) {
                return PASS;
            }
            lane.is_endless = true;
            lane.status = Status::Spinning;
            return Attempt::Wait;
        }
        let patient = self.patient.as_ref();
        if patient.is_some_and(|patient| patient.period != period) {
            self.leave();
        }
        if let Some(patient) = &mut self.patient {
            patient.rounds += 1;
            if patient.rounds > PATIENCE {
                return self.give_up();
            }
            self.graph.went_on[n] = next + 1;
            return PASS;
        }
        if self.graph.waits[n] == 0 {
            if !self.is_exploring || self.is_hopeless {
                return Attempt::Wait;
            }
            if self.graph.went_on[n] > next {
                self.patient = Some(Patient {
                    period,
                    ..Patient::default()
                });
                return PASS;
            }
            if let Some(mut other) = explore::go_on(&self.graph, thread) {
                if self.limits.allow_deviation(&mut other) {
                    self.pending.push(other);
                } else {
                    self.graph.is_cut = true;
                }
            }
            self.graph.wait(thread);
            self.is_hopeless = self.is_late(thread, period);
        }
        self.lanes[n].status = Status::Spinning;
        Attempt::Wait
    }

    /// Whether a thread has passed over a write in its last round. That read is never changed, so
    /// the thread never stops to wait.
    fn is_late(&self, thread: u8, period: u16) -> bool {
        let graph = &self.graph;
        let is_late = |read: &Event| {
            let was_there = |&write: &Id| graph.at(write).stamp < read.stamp;
            let mut newest = graph.order(read.place).rev();
            let newest = newest.find(|write| Some(*write) == read.source || was_there(write));
            read.kind.is_read() && newest != read.source
        };
        let events = graph.threads[usize::from(thread)].iter().rev();
        events.take(period.into()).any(is_late)
    }

    /// Ends the rounds of a loop that has none that finds anything else.
    pub(super) fn give_up(&mut self) -> Attempt {
        let patient = self.patient.take().expect("a thread goes on");
        let lane = &mut self.lanes[usize::from(self.current)];
        let counts = lane.counted >= COUNTED;
        let Some(before) = patient.before else {
            self.graph.is_cut |= counts;
            self.is_dead = true;
            return Attempt::Wait;
        };
        lane.is_endless = true;
        lane.status = Status::Spinning;
        // Another thread may wait for the count.
        self.is_hopeless |= counts && !self.is_stuck();
        let at = before.next(self.current).index;
        let lane = self.lane();
        lane.at = at;
        lane.sites.truncate(lane.at.into());
        self.graph = before;
        Attempt::Wait
    }

    /// Ends the rounds of a loop that was left.
    pub(super) fn leave(&mut self) {
        let Some(patient) = self.patient.take_if(|_| self.fault.is_none()) else {
            return;
        };
        self.is_hopeless |= patient.before.is_some();
        match patient.before {
            Some(before) => self.graph = before,
            None => self.pending.extend(patient.held),
        }
    }

    /// Whether the running thread has not left the loop in which it goes on.
    pub(super) fn is_patient_still(&self, at: usize) -> bool {
        let lane = &self.lanes[usize::from(self.current)];
        let looked = usize::from(lane.looks.last().copied().unwrap_or(0));
        let patient = self.patient.as_ref();
        patient.is_some_and(|patient| at - looked <= usize::from(patient.period))
    }

    /// Where all threads wait, lets one that spins go on, to find out whether its loop has an end.
    pub(super) fn next_patient(&mut self) -> Option<u8> {
        let spins = |thread: &u8| {
            let lane = &self.lanes[usize::from(*thread)];
            lane.status == Status::Spinning && !lane.is_endless
        };
        let thread = (0..self.lanes.len() as u8).find(spins);
        let thread = thread.filter(|_| self.is_stuck())?;
        let lane = &mut self.lanes[usize::from(thread)];
        lane.status = Status::Ready;
        self.patient = Some(Patient {
            period: lane.period,
            before: Some(self.graph.clone()),
            ..Patient::default()
        });
        Some(thread)
    }
}

/// Whether the last round wrote the same as the one before it. Returns nothing if it did not do the
/// same.
fn wrote_the_same(done: &[Event], period: usize) -> Option<bool> {
    let start = done.len().checked_sub(2 * period)?;
    let (before, now) = done[start..].split_at(period);
    let thread = now.first()?.id.thread;
    // The event that has the same part in the round before.
    let earlier = |id: Id| {
        let is_of_these = id.thread == thread && usize::from(id.index) >= start;
        let back = if is_of_these { period as u16 } else { 0 };
        id.with_index(id.index.saturating_sub(back))
    };
    let both = || before.iter().zip(now);
    let did_the_same = both().all(|(then, now)| {
        then.kind.number() == now.kind.number()
            && then.place == earlier(now.place)
            && (then.source == now.source || then.source == now.source.map(earlier))
    });
    let reads = now.iter().any(|event| event.kind.is_read());
    let values = |event: &Event| (event.value, event.written);
    (reads && did_the_same).then(|| both().all(|(then, now)| values(then) == values(now)))
}
