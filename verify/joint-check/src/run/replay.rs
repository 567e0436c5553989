//! A step that is in the graph: the thread does it again, with the values of this run.

use super::{Answer, Attempt, Fault, Freed, Phase, Request, Run, Status};
use crate::graph::{Clock, Id, Kind};

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
            let now = sites
                .last()
                .map(|site| format!(": it now does `{}` ({})", site.name, site.at));
            return self.differs(&now.unwrap_or_default());
        }
        if !self.can_replay(event) {
            return Attempt::Wait;
        }
        let value = event.source.map(|source| self.graph.at(source).written);
        if let Some(freed) = self.freed_before_replayed(request, id) {
            self.graph.truncate(0, &self.replayed());
            return self.fail(Fault::UsedAfter(freed));
        }
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

    /// What has freed the location of an access that is in the graph. A free is no step, so in this
    /// run it may come before an access that came first in the run that has added the access.
    fn freed_before_replayed(&self, request: Request, id: Id) -> Option<Freed> {
        let place = request.place()?;
        match self.phase {
            Phase::Trying(_) => None,
            _ => self.freed_before(id, place),
        }
    }

    /// The steps that the threads have done in this run.
    fn replayed(&self) -> Clock {
        self.lanes.each_ref().map(|lane| lane.at)
    }

    pub(super) fn pass(&mut self, id: Id) -> Attempt {
        let event = self.graph.at(id);
        let lane = &mut self.lanes[usize::from(id.thread)];
        let (mut value, outcome) = (event.value, event.outcome);
        lane.at = id.index + 1;
        lane.accesses += usize::from(event.kind.is_read() || event.is_store());
        match event.kind {
            Kind::Spawn(child) => value = child.into(),
            Kind::Drop { is_last } => value = is_last.into(),
            Kind::Read { op, .. } => {
                if let (Some(written), _) = event.outcome() {
                    lane.at += 1;
                    self.graph.at_mut(id.next()).written = written;
                } else if op.blocks(value, event.outcome) {
                    lane.status = Status::Waiting;
                    return Attempt::Wait;
                }
            }
            _ => {}
        }
        lane.status = Status::Ready;
        self.begin(id);
        Attempt::Done(Answer { id, value, outcome })
    }
}
