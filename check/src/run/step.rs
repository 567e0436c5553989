//! A new step: the graph grows, and other graphs are kept for later.

use core::sync::atomic::Ordering;

use super::{Attempt, Fault, Request, Run, Status, drive::lost};
use crate::{
    explore::Steps,
    graph::{Event, Graph, Id, Kind, MAX_THREADS},
};

impl Run {
    /// Takes a step in all ways, or in the one that passes over so many `newer` writes.
    pub(super) fn explore(&mut self, request: Request, newer: Option<usize>) -> Attempt {
        let id = self.graph.next(self.current);
        // For the report of the panic, if this step has no way to go on.
        let kept = std::thread::panicking().then(|| self.graph.clone());
        let mut steps = Steps {
            newer,
            ..Steps::default()
        };
        let relaxed = Ordering::Relaxed;
        if request
            .place()
            .is_some_and(|place| !self.graph.has_made(place))
        {
            let text = "an atomic, a cell or a lock is used that this execution has not made: its memory \
                        was freed, or it is kept from one execution to the next";
            self.fault = Some(Fault::Limit(text.into()));
            return Attempt::Wait;
        }
        match request {
            Request::Access {
                place,
                op,
                ordering,
                failure,
            } => {
                let kind = Kind::Read { op, failure };
                steps.read(
                    core::mem::take(&mut self.graph),
                    Event::new(id, kind, place, ordering),
                );
                return self.take(steps, id, kept);
            }
            Request::Store {
                place,
                value,
                ordering,
            } => {
                let kind = Kind::Write { is_exchange: false };
                let mut write = Event::new(id, kind, place, ordering);
                write.written = value;
                steps.forward = steps.write(core::mem::take(&mut self.graph), write);
                return self.take(steps, id, kept);
            }
            Request::Make { kind, value } => {
                let mut event = Event::new(id, kind, id, relaxed);
                event.written = value;
                self.graph.push(event);
                if kind.is_write() {
                    self.graph.writes.push((id, id));
                }
            }
            Request::Exclusive { place } => {
                let last = self
                    .graph
                    .order(place)
                    .next_back()
                    .expect("a location has a write");
                let mut event = Event::new(id, Kind::Exclusive, place, relaxed);
                event.source = Some(last);
                event.value = self.graph.at(last).written;
                event.written = event.value;
                self.graph.push(event);
                self.graph.order_after(last, id);
            }
            Request::Cell { place, writes } => {
                let kind = if writes {
                    Kind::CellWrite
                } else {
                    Kind::CellRead
                };
                self.graph.push(Event::new(id, kind, place, relaxed));
            }
            // Nothing comes after it yet, so it closes no cycle of `psc`.
            Request::Fence(ordering) => self.graph.push(Event::new(id, Kind::Fence, id, ordering)),
            Request::Spawn => {
                let free = self.graph.spawned.iter().position(Option::is_none);
                let Some(child) = free else {
                    let text = format!("a model has at most {MAX_THREADS} threads");
                    self.fault = Some(Fault::Limit(text));
                    return Attempt::Wait;
                };
                self.graph.spawned[child] = Some(id);
                let kind = Kind::Spawn(child as u8);
                self.graph.push(Event::new(id, kind, id, relaxed));
                self.graph.writes.push((id, id));
            }
            Request::Join(child) => {
                if !self.has_ended(child) {
                    self.lanes[usize::from(self.current)].status = Status::Joining(child);
                    return Attempt::Wait;
                }
                self.graph
                    .push(Event::new(id, Kind::Join(child), id, relaxed));
            }
            Request::End => self.graph.push(Event::new(id, Kind::End, id, relaxed)),
            Request::Again => unreachable!("it is no event"),
        }
        if let Some(other) = self.graph.race(self.graph.at(id)) {
            self.raced(other.id, id);
            return Attempt::Wait;
        }
        self.pass(id)
    }

    fn raced(&mut self, first: Id, second: Id) {
        self.fault = Some(Fault::Race(first, second));
    }

    /// Goes on with the first of the graphs, and keeps the others for later.
    fn take(&mut self, steps: Steps, id: Id, kept: Option<Graph>) -> Attempt {
        if let Some((first, second, graph)) = steps.race {
            self.graph = graph;
            self.raced(first, second);
            return Attempt::Wait;
        }
        let mut left_out = false;
        let mut deviates = |mut graph: Graph| {
            graph.deviations += 1;
            let most = self.limits.deviations;
            let is_wanted = most.is_none_or(|most| graph.deviations <= most);
            left_out |= !is_wanted;
            is_wanted.then_some(graph)
        };
        let mut forward = steps.forward.into_iter();
        let mut first = forward.next();
        if steps.released.is_some() {
            first = first.and_then(&mut deviates);
        }
        let others = steps.revisits.into_iter().chain(forward);
        self.pending.extend(others.filter_map(deviates));
        self.pending.extend(steps.released);
        self.is_dead = first.is_none();
        self.graph = first.unwrap_or_else(|| kept.unwrap_or_default());
        self.graph.is_cut |= left_out;
        if self.is_dead {
            if self.guide.is_some() {
                self.fault = Some(lost("names a write that cannot be read or followed"));
            }
            return Attempt::Wait;
        }
        self.pass(id)
    }
}
