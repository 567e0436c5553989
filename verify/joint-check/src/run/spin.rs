//! Loops that wait: a thread whose iteration changed nothing is blocked until another thread
//! writes. In a graph of its own it keeps spinning, because the loop may give up after some
//! iterations.

use super::{Answer, Attempt, Fault, Phase, Run, Status};
use crate::{
    explore,
    graph::{Event, Graph, Id},
};

/// A loop is taken to be endless after this many iterations that changed nothing.
const PATIENCE: u8 = 100;
/// A thread is blocked after this many iterations that differ only in what it counts itself. This
/// is a bound: the count could matter if a later iteration found a write.
const COUNTED: usize = 8;

/// The beginning of an iteration of a loop that waits.
pub(super) struct Look {
    /// The number of the next step.
    pub(super) at: u16,
    /// Which loop it is of.
    place: u64,
}

/// A thread that keeps spinning.
#[derive(Default)]
pub(super) struct Spin {
    /// Steps per iteration.
    pub(super) period: u16,
    rounds: u8,
    /// The steps with a choice. If the loop ends, their other graphs are left to explore.
    pub(super) asked: Vec<Event>,
    /// The graph in which it began to.
    pub(super) before: Graph,
    /// Whether this only finds out whether the loop ends, and then returns to that graph.
    is_trial: bool,
}

pub(super) const PASS: Attempt = Attempt::Done(Answer::NONE);

impl Run {
    /// Begins another iteration, unless the last two were the same.
    ///
    /// Two iterations are the same if they came to the same place in the program, did the same
    /// operations at the same places, wrote the same values, and read from the same writes of other
    /// threads and from corresponding writes of their own. A loop may therefore take locks. After
    /// [`COUNTED`] iterations that wrote other values, for example a count, these are taken to be
    /// the same.
    pub(super) fn look_again(&mut self, place: u64) -> Attempt {
        let spinning = self.phase.spin().map(|spin| spin.period);
        let lane = &mut self.lanes[usize::from(self.current)];
        lane.idle += 1;
        if lane.idle > self.limits.events {
            let text = "a loop looks again and reads nothing: it waits for something that the model \
                        does not see";
            return self.fail(Fault::Limit(text.into()));
        }
        if lane.looks.last().is_some_and(|look| look.at == lane.at) {
            return PASS;
        }
        let events = &self.graph.threads[usize::from(self.current)];
        let done = &events[..usize::from(lane.at)];
        // An iteration may contain other looks, and loops.
        let looks = lane.looks.iter().rev();
        let periods = looks
            .filter(|look| look.place == place)
            .map(|look| lane.at - look.at);
        let spinning =
            spinning.filter(|spinning| periods.clone().any(|period| period == *spinning));
        let mut periods = spinning.into_iter().chain(periods);
        let sites = |n: usize| lane.sites.get(n).or(lane.sites.last());
        let alike = |period: u16| {
            let back = usize::from(period);
            let mut round = done.len() - back..done.len();
            let is_same = round.len() <= done.len() - back
                && round
                    .all(|n| sites(n).map(|site| site.at) == sites(n - back).map(|site| site.at));
            let wrote = wrote_the_same(done, back);
            Some((period, wrote.filter(|_| is_same)?))
        };
        let found = periods.find_map(alike);
        let counts = found.is_some_and(|(_, is_equal)| !is_equal);
        lane.counted = if counts { lane.counted + 1 } else { 0 };
        let is_same = !counts || lane.counted >= COUNTED;
        let is_new = done.len() == events.len();
        if let Some(last) = lane.at.checked_sub(1) {
            let event = &mut self.graph.threads[usize::from(self.current)][usize::from(last)];
            event.look = place;
        }
        let attempt = match found {
            Some((period, _)) if is_same && is_new => self.block_or_spin(period),
            _ => {
                self.leave();
                match self.phase {
                    Phase::Blocked | Phase::Failed(_) => Attempt::Wait,
                    _ => PASS,
                }
            }
        };
        if let Attempt::Done(_) = attempt {
            let lane = self.lane();
            let at = lane.at;
            lane.looks.push(Look { at, place });
        }
        attempt
    }

    /// Blocks the thread, unless this graph is the one in which it keeps spinning.
    fn block_or_spin(&mut self, period: u16) -> Attempt {
        let thread = self.current;
        let n = usize::from(thread);
        let lane = &mut self.lanes[n];
        let next = lane.at;
        lane.period = period;
        if let Phase::Following(line) = &self.phase {
            if line.front().is_some_and(|&(first, _)| first == thread) {
                return PASS;
            }
            lane.is_endless = true;
            lane.status = Status::Spinning;
            return Attempt::Wait;
        }
        if self.phase.spin().is_some_and(|spin| spin.period != period) {
            self.leave();
        }
        if let Phase::Spinning(spin) = &mut self.phase {
            spin.rounds += 1;
            if spin.rounds > PATIENCE {
                return self.give_up();
            }
            self.graph.went_on[n] = next + 1;
            return PASS;
        }
        if self.graph.waits[n] == 0 {
            let goes_on = self.graph.went_on[n] > next;
            // A trial does what the run did.
            if goes_on && matches!(self.phase, Phase::Trying(_)) {
                return PASS;
            }
            if !self.phase.extends() {
                return Attempt::Wait;
            }
            if goes_on {
                self.phase = Phase::Spinning(Spin {
                    period,
                    before: self.graph.clone(),
                    ..Spin::default()
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
            if self.is_late(thread, period) {
                self.phase = Phase::Blocked;
            }
        }
        self.lanes[n].status = Status::Spinning;
        Attempt::Wait
    }

    /// Whether a thread has skipped a newer write in its last iteration. That read never changes,
    /// so the thread waits forever.
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

    /// Ends a loop whose iterations never change anything.
    pub(super) fn give_up(&mut self) -> Attempt {
        let phase = core::mem::replace(&mut self.phase, Phase::Exploring);
        let lane = &mut self.lanes[usize::from(self.current)];
        let counts = lane.counted >= COUNTED;
        let Phase::Spinning(Spin {
            before,
            is_trial: true,
            ..
        }) = phase
        else {
            self.graph.is_cut |= counts;
            self.phase = Phase::Dead;
            return Attempt::Wait;
        };
        lane.is_endless = true;
        lane.status = Status::Spinning;
        // Another thread may wait for the count.
        if counts && !self.is_stuck() {
            self.phase = Phase::Blocked;
        }
        let at = before.next(self.current).index;
        let lane = self.lane();
        lane.at = at;
        lane.sites.truncate(lane.at.into());
        self.graph = before;
        Attempt::Wait
    }

    /// Ends the spinning of a thread that has left its loop, or waits.
    pub(super) fn leave(&mut self) {
        let Some(spin) = self.phase.spin() else {
            return;
        };
        let spin = core::mem::take(spin);
        if spin.is_trial {
            self.graph = spin.before;
            self.phase = Phase::Blocked;
            return;
        }
        self.phase = Phase::Exploring;
        for asked in spin.asked {
            self.keep_others(asked, spin.period);
        }
    }

    /// Whether the running thread has not left the loop in which it keeps spinning.
    pub(super) fn is_still_spinning(&mut self, at: usize) -> bool {
        let lane = &self.lanes[usize::from(self.current)];
        let looked = lane.looks.last().map_or(0, |look| look.at.into());
        let spin = self.phase.spin();
        spin.is_some_and(|spin| at - looked <= usize::from(spin.period))
    }

    /// If all threads wait, returns one that is blocked in a loop, which spins on trial to find out
    /// whether the loop ends.
    pub(super) fn next_on_trial(&mut self) -> Option<u8> {
        let spins = |thread: &u8| {
            let lane = &self.lanes[usize::from(*thread)];
            lane.status == Status::Spinning && !lane.is_endless
        };
        let thread = (0..self.lanes.len() as u8).find(spins);
        let thread = thread.filter(|_| self.is_stuck())?;
        let lane = &mut self.lanes[usize::from(thread)];
        lane.status = Status::Ready;
        self.phase = Phase::Spinning(Spin {
            period: lane.period,
            before: self.graph.clone(),
            is_trial: true,
            ..Spin::default()
        });
        Some(thread)
    }
}

/// Whether the last iteration wrote the same values as the one before it. Returns nothing if it did
/// not do the same operations.
fn wrote_the_same(done: &[Event], period: usize) -> Option<bool> {
    let start = done.len().checked_sub(2 * period)?;
    let (before, now) = done[start..].split_at(period);
    let thread = now.first()?.id.thread;
    // The corresponding event of the iteration before.
    let earlier = |id: Id| {
        let is_of_these = id.thread == thread && usize::from(id.index) >= start;
        let back = if is_of_these { period as u16 } else { 0 };
        id.with_index(id.index.saturating_sub(back))
    };
    let both = || before.iter().zip(now);
    let did_the_same = both().all(|(then, now)| {
        then.kind.is_like(now.kind)
            // What happened for no reason need not happen again.
            && then.outcome + now.outcome == 0
            && then.place == earlier(now.place)
            && (then.source == now.source || then.source == now.source.map(earlier))
    });
    let reads = now.iter().any(|event| event.kind.is_read());
    let values = |event: &Event| (event.value, event.written);
    (reads && did_the_same).then(|| both().all(|(then, now)| values(then) == values(now)))
}
