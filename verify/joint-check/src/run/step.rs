//! A new step: it extends the graph, and other graphs are kept for later.

use super::{Attempt, Fault, Phase, Request, Run, Status, drive::lost};
use crate::{
    explore::{Choice, Steps},
    graph::{Graph, Id, Kind, MAX_THREADS},
};

impl Run {
    /// Explores every choice for this step, or only one.
    pub(super) fn explore(&mut self, request: Request, only: Option<Choice>) -> Attempt {
        let id = self.graph.next(self.current);
        // For the report of the panic, if this step has no place.
        let kept = std::thread::panicking().then(|| self.graph.clone());
        let first = match &self.phase {
            Phase::Spinning(spin) => self.graph.repeated(id, spin.period),
            _ => None,
        };
        let mut steps = Steps {
            only,
            first,
            spurious: self.limits.spurious,
            ..Steps::default()
        };
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
        match request {
            Request::Access { .. } => {
                event.merges = self.limits.merges;
                steps.read(core::mem::take(&mut self.graph), event);
                return self.take(steps, id, kept);
            }
            Request::Store { .. } => {
                steps.forward = steps.write(core::mem::take(&mut self.graph), event);
                return self.take(steps, id, kept);
            }
            Request::Handle { drops: true, .. } => {
                steps.drop(core::mem::take(&mut self.graph), event);
                return self.take(steps, id, kept);
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

    /// Continues with the first of the graphs, and keeps the others for later.
    fn take(&mut self, steps: Steps, id: Id, kept: Option<Graph>) -> Attempt {
        if let Some((first, second, graph)) = steps.race {
            self.graph = graph;
            return self.fail(Fault::Race(first, second));
        }
        let mut left_out = false;
        let limits = self.limits;
        let mut deviates = |mut graph: Graph| {
            let is_wanted = limits.allow_deviation(&mut graph);
            left_out |= !is_wanted;
            is_wanted.then_some(graph)
        };
        let mut forward = steps.forward.into_iter();
        let mut first = forward.next();
        if steps.released.is_some() {
            first = first.and_then(&mut deviates);
        }
        let others = steps.revisits.into_iter().chain(forward);
        let others = others.filter_map(deviates).chain(steps.released);
        let held = self.phase.spin().map(|spin| &mut spin.held);
        held.unwrap_or(&mut self.pending).extend(others);
        let is_dead = first.is_none();
        self.graph = first.unwrap_or_else(|| kept.unwrap_or_default());
        self.graph.is_cut |= left_out;
        if !is_dead {
            return self.pass(id);
        }
        if let Phase::Following(_) = self.phase {
            return self.fail(lost("names a write that cannot be read or followed"));
        }
        self.leave();
        self.phase = Phase::Dead;
        Attempt::Wait
    }
}
