//! Loops that wait: a thread that does in one round what it did before is blocked until another
//! thread writes.

use super::{Answer, Attempt, Fault, Lane, Run, Status};
use crate::graph::{Event, Id};

/// After so many rounds without anything new, a loop is taken to be endless.
const PATIENCE: u8 = 64;
/// A thread waits after this many rounds that differ only in what it counts itself. This is a
/// bound: the count could matter if a later round found a write.
const COUNTED: usize = 8;

impl Run {
    /// Begins another round, unless the last two were the same.
    ///
    /// Two rounds are the same if they did the same, wrote the same, and read from the same writes
    /// of other threads and the same writes of their own. A loop may therefore take locks. After
    /// a few rounds, those that wrote other values, as where each is counted, are taken to be the
    /// same.
    pub(super) fn look_again(&mut self) -> Attempt {
        let thread = self.current;
        let Self { graph, lanes, .. } = self;
        let lane = &mut lanes[usize::from(thread)];
        lane.idle += 1;
        if lane.idle > self.limits.events {
            let text = "a loop looks again and reads nothing: it waits for something that the model \
                        does not see";
            self.fault = Some(Fault::Limit(text.into()));
            return Attempt::Wait;
        }
        let events = &graph.threads[usize::from(thread)];
        let (from, to) = (usize::from(lane.round), usize::from(lane.at));
        let (before, now) = (&events[..from], &events[from..to]);
        let reads = now.iter().any(|event| event.kind.is_read());
        let did_the_same = reads && is_alike(before, now);
        let is_equal = did_the_same && wrote_the_same(before, now);
        let counts = did_the_same && !is_equal;
        lane.counted = if counts { lane.counted + 1 } else { 0 };
        let is_same = is_equal || lane.counted >= COUNTED;
        // A thread that has gone on does so again when the run is repeated.
        if is_same && !lane.goes_on && to == events.len() {
            lane.status = Status::Spinning;
            // A read that passed over a later write is never changed, so the thread never goes on.
            let is_late = |read: &Event| {
                let was_there = |&write: &Id| graph.at(write).stamp < read.stamp;
                let mut newest = graph.order(read.place).rev();
                let newest = newest.find(|write| Some(*write) == read.source || was_there(write));
                read.kind.is_read() && newest != read.source
            };
            self.is_hopeless |= self.is_exploring && now.iter().any(is_late);
            return Attempt::Wait;
        }
        if !is_equal {
            lane.retries = 0;
        }
        lane.goes_on = false;
        lane.round = lane.at;
        Attempt::Done(Answer {
            id: Id::ROOT,
            value: 0,
        })
    }

    /// Where all threads wait, lets one that spins go on, because its loop may have an end.
    pub(super) fn next_patient(&mut self) -> Option<u8> {
        let spins = |thread: &u8| {
            let lane = &self.lanes[usize::from(*thread)];
            lane.status == Status::Spinning && lane.retries < PATIENCE
        };
        let threads = (0..self.lanes.len() as u8).filter(spins);
        let thread = threads.min_by_key(|&thread| self.graph.path(thread));
        let thread = thread.filter(|_| self.is_stuck())?;
        let lane = &mut self.lanes[usize::from(thread)];
        lane.status = Status::Ready;
        lane.goes_on = true;
        lane.retries += 1;
        Some(thread)
    }

    /// Whether a loop that counts its rounds is left where a further round might find a write.
    pub(super) fn is_cut(&self) -> bool {
        let is_cut = |lane: &Lane| lane.status == Status::Spinning && lane.counted >= COUNTED;
        self.lanes.iter().any(is_cut)
    }
}

/// Whether a round did the same as the end of what came before it.
fn is_alike(before: &[Event], now: &[Event]) -> bool {
    let Some(start) = before.len().checked_sub(now.len()) else {
        return false;
    };
    let first = now[0].id;
    // The event that has the same part in the round before.
    let earlier = |id: Id| {
        let is_of_these = id.thread == first.thread && usize::from(id.index) >= start;
        let back = if is_of_these { now.len() as u16 } else { 0 };
        Id {
            index: id.index.saturating_sub(back),
            ..id
        }
    };
    before[start..].iter().zip(now).all(|(then, now)| {
        then.kind.number() == now.kind.number()
            && then.place == earlier(now.place)
            && (then.source == now.source || then.source == now.source.map(earlier))
    })
}

/// Whether such a round also wrote the same.
fn wrote_the_same(before: &[Event], now: &[Event]) -> bool {
    let values = |event: &Event| (event.value, event.written);
    let mut both = before.iter().rev().zip(now.iter().rev());
    both.all(|(then, now)| values(then) == values(now))
}
