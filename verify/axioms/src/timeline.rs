//! An order in time for the events of an execution, to draw them in.

use crate::{EventId, Execution, Relation, execution::Edges};

pub(crate) fn of(execution: &Execution) -> Vec<EventId> {
    let Edges { po, rf, mo, fr, .. } = execution.edges();
    let choices = [&[po, rf, mo, fr][..], &[po, rf], &[po]].map(Relation::union);
    let explained = choices.iter().find(|choice| choice.is_acyclic());
    in_order(execution, explained.unwrap_or(po))
}

/// A linear order that includes `before`. Stays with a thread as long as possible.
fn in_order(execution: &Execution, before: &Relation) -> Vec<EventId> {
    let events = execution.events();
    let mut left: Vec<EventId> = (0..events.len())
        .filter(|&id| events[id].thread.is_some())
        .collect();
    let mut order: Vec<EventId> = Vec::new();
    while !left.is_empty() {
        let ready = |&id: &EventId| left.iter().all(|&other| !before.has(other, id));
        let current = order.last().and_then(|&id| events[id].thread);
        let same = left
            .iter()
            .copied()
            .find(|id| ready(id) && events[*id].thread == current);
        let next = same.or_else(|| left.iter().copied().find(ready));
        let next = next.expect("what has no cycles has a first");
        left.retain(|&id| id != next);
        order.push(next);
    }
    order
}
