//! A step that is in the graph: the thread does it again, with the values of this run.

use super::{Answer, Attempt, Fault, Request, Run, Status};
use crate::graph::{Id, Kind};

impl Run {
    pub(super) fn replay(&mut self, request: Request) -> Attempt {
        let thread = self.current;
        let index = self.lanes[usize::from(thread)].at;
        let id = Id { thread, index };
        let event = self.graph.at(id);
        let expected = request.event(id).kind;
        let is_elsewhere = request.place().is_some_and(|place| place != event.place);
        if !event.kind.is_like(expected) || is_elsewhere {
            let sites = &self.lanes[usize::from(thread)].sites;
            let name = sites.last().map_or("?", |site| site.name);
            return self.fail(Fault::Limit(format!(
                "the model does not do the same when it is run again: it now does `{name}`"
            )));
        }
        if !self.can_replay(event) {
            return Attempt::Wait;
        }
        let value = event.source.map(|source| self.graph.at(source).written);
        let event = self.graph.at_mut(id);
        match request {
            Request::Make { value, .. } | Request::Store { value, .. } => event.written = value,
            Request::Access { op, failure, .. } => event.kind = Kind::Read { op, failure },
            _ => {}
        }
        event.value = value.unwrap_or_default();
        if let Kind::Exclusive = event.kind {
            event.written = event.value;
        }
        self.pass(id)
    }

    pub(super) fn pass(&mut self, id: Id) -> Attempt {
        let event = self.graph.at(id);
        let lane = &mut self.lanes[usize::from(id.thread)];
        let mut value = event.value;
        lane.at = id.index + 1;
        match event.kind {
            Kind::Spawn(child) => value = child.into(),
            Kind::Drop { is_last } => value = is_last.into(),
            Kind::Read { op, .. } => {
                if let (Some(written), _) = event.outcome() {
                    lane.at += 1;
                    self.graph.at_mut(id.next()).written = written;
                } else if op.blocks(value) {
                    lane.status = Status::Waiting;
                    return Attempt::Wait;
                }
            }
            _ => {}
        }
        lane.status = Status::Ready;
        Attempt::Done(Answer { id, value })
    }
}
