//! A new step: it extends the graph, and other graphs are kept for later.

use super::{Attempt, Fault, Phase, Request, Run, Status, drive::lost};
use crate::{
    explore::{Choice, Steps},
    graph::{Event, Graph, Id, Kind, MAX_THREADS},
};

impl Run {
    /// Explores every choice for this step, or only one.
    pub(super) fn explore(&mut self, request: Request, only: Option<Choice>) -> Attempt {
        if self.graph.waits[usize::from(self.current)] > 0 && self.phase.spin().is_none() {
            self.lane().status = Status::Left;
            return Attempt::Wait;
        }
        let id = self.graph.next(self.current);
        if request
            .place()
            .is_some_and(|place| !self.graph.has_made(place))
        {
            let text = "an atomic, a cell or a lock is used that this execution has not made: its memory \
                        was freed, or it is kept from one execution to the next";
            return self.fail(Fault::Limit(text.into()));
        }
        let freed = request
            .place()
            .and_then(|place| self.freed_before(id, place));
        if let Some(freed) = freed {
            return self.fail(Fault::UsedAfter(freed));
        }
        let mut event = request.event(id);
        event.merges = self.limits.merges;
        match request {
            Request::Access { .. }
            | Request::Store { .. }
            | Request::Handle { drops: true, .. } => {
                let period = self.phase.spin().map(|spin| spin.period);
                let mut steps = self.steps(&self.graph, id, period);
                (steps.only, steps.is_lone) = (only, period.is_some());
                steps.may_leave = only.is_none() && period.is_none();
                steps.add(core::mem::take(&mut self.graph), event);
                return self.take(steps, event);
            }
            Request::Exclusive { place } | Request::PlainRead { place } => {
                event.source = self.graph.order(place).next_back();
                let last = event.source.expect("a location has a write");
                event.value = self.graph.at(last).written;
                event.written = event.value;
            }
            Request::Spawn => {
                let free = self.graph.spawned.iter().position(Option::is_none);
                let Some(child) = free else {
                    let text = format!("a model has at most {MAX_THREADS} threads");
                    return self.fail(Fault::Limit(text));
                };
                self.graph.spawned[child] = Some(id);
                event.kind = Kind::Spawn(child as u8);
            }
            Request::Join(child, until) if self.graph.joined(child, until).is_none() => {
                self.lane().status = Status::Joining(child, until);
                return Attempt::Wait;
            }
            _ => {}
        }
        // Nothing comes after it yet, so a fence closes no cycle of `psc`.
        self.graph.push(event);
        if let (Some(last), Kind::Exclusive) = (event.source, event.kind) {
            self.graph.order_after(last, id);
        }
        if let Some(other) = self.graph.race(self.graph.at(id)) {
            let first = other.id;
            return self.fail(Fault::Race(first, id));
        }
        if let Request::Cell { .. } = request {
            if let Some(fault) = self.overlap(id) {
                return self.fail(fault);
            }
        }
        self.pass(id)
    }

    /// A step without its graphs. In a loop, it first repeats what it did `period` steps before.
    fn steps(&self, graph: &Graph, id: Id, period: Option<u16>) -> Steps {
        Steps {
            first: period.and_then(|period| graph.repeated(id, period)),
            spurious: self.limits.spurious,
            ..Steps::default()
        }
    }

    /// Continues with the first of the graphs, and keeps the others for later. A thread that spins
    /// only notes the step, because the others are not explored if the loop does not end.
    fn take(&mut self, mut steps: Steps, asked: Event) -> Attempt {
        if let Some((first, second, graph)) = steps.race.take() {
            self.graph = graph;
            return self.fail(Fault::Race(first, second));
        }
        if steps.leaves {
            return self.leave_out(steps, asked.id);
        }
        let (goes_on, graph, others) = self.split(steps);
        self.graph = graph;
        match self.phase.spin() {
            Some(spin) => spin.asked.push(asked),
            None => self.pending.extend(others),
        }
        if goes_on {
            return self.pass(asked.id);
        }
        if let Phase::Following(_) = self.phase {
            return self.fail(lost("names a write that cannot be read or followed"));
        }
        self.leave();
        if !matches!(self.phase, Phase::Failed(_)) {
            self.phase = Phase::Dead;
        }
        Attempt::Wait
    }

    /// Continues in the graph in which a write lets the first waiter go on, or without the write.
    fn leave_out(&mut self, mut steps: Steps, asked: Id) -> Attempt {
        let unused = steps.unused.take();
        let mut without = unused.unwrap_or_else(|| steps.forward[0].clone());
        without.undo(asked);
        without.wait(self.current);
        steps.forward.insert(0, without);
        let rewinds = steps.released.as_ref();
        let rewinds = rewinds.is_some_and(|graph| self.can_rewind(graph));
        let (goes_on, without, mut others) = self.split(steps);
        let released = if rewinds { others.pop() } else { None };
        self.graph = without;
        self.lane().status = Status::Left;
        self.pending.extend(others);
        if let Some(released) = released {
            let more = goes_on && self.lanes.iter().any(|lane| self.can_run(lane));
            let without = core::mem::replace(&mut self.graph, released);
            self.graph.is_cut |= without.is_cut;
            self.pending.extend(more.then_some(without));
            self.rewind();
        } else if !goes_on {
            self.phase = Phase::Dead;
        }
        Attempt::Wait
    }

    /// Whether a graph lacks no step of this run but those at which threads are blocked.
    fn can_rewind(&self, graph: &Graph) -> bool {
        let threads = graph.threads.iter().zip(graph.waits);
        let mut lanes = self.lanes.iter().zip(threads);
        lanes.all(|(lane, (events, waits))| {
            let (done, kept) = (usize::from(lane.at), events.len());
            match lane.status {
                Status::Waiting => done <= kept + 1,
                Status::Spinning => done <= kept && waits > 0,
                _ => done <= kept,
            }
        })
    }

    /// Lets the threads do again what they have not done in the graph.
    fn rewind(&mut self) {
        self.phase = Phase::Replaying;
        for (thread, lane) in (0..).zip(&mut self.lanes) {
            let goes_on = match lane.status {
                Status::Waiting => {
                    let read = Id {
                        thread,
                        index: lane.at - 1,
                    };
                    let waits = self.graph.holds(read) && self.graph.at(read).blocks();
                    if !waits {
                        lane.at -= 1;
                        lane.accesses -= 1;
                    }
                    !waits
                }
                Status::Left => self.graph.waits[usize::from(thread)] == 0,
                _ => false,
            };
            if goes_on {
                lane.status = Status::Ready;
            }
        }
    }

    /// Returns whether a thread goes on after a step, the first graph or the one before the step,
    /// and the other graphs.
    fn split(&self, steps: Steps) -> (bool, Graph, Vec<Graph>) {
        let mut left_out = false;
        let mut deviates = |graph: &mut Graph| {
            let is_wanted = self.limits.allow_deviation(graph);
            left_out |= !is_wanted;
            is_wanted
        };
        let mut forward = steps.forward.into_iter();
        let mut first = forward.next();
        let goes_on = match (&mut first, &steps.released) {
            (Some(first), Some(_)) => deviates(first),
            (first, _) => first.is_some(),
        };
        let others = steps.revisits.into_iter().chain(forward);
        let others = others.filter_map(|mut graph| deviates(&mut graph).then_some(graph));
        let others = others.chain(steps.released).collect();
        let mut graph = first.or(steps.unused).unwrap_or_default();
        graph.is_cut |= left_out;
        (goes_on, graph, others)
    }

    /// Keeps the graphs to which a step of a loop leads beside the one that the thread has taken.
    pub(super) fn keep_others(&mut self, asked: Event, period: u16) {
        let mut graph = self.graph.clone();
        graph.undo(asked.id);
        let mut steps = self.steps(&graph, asked.id, Some(period));
        steps.add(graph, asked);
        if let Some((first, second, graph)) = steps.race.take() {
            self.graph = graph;
            self.fail(Fault::Race(first, second));
            return;
        }
        let (_, graph, others) = self.split(steps);
        self.graph.is_cut |= graph.is_cut;
        self.pending.extend(others);
    }
}
