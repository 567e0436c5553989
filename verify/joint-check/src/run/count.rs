//! The counts of the handles of shared values.

use core::panic::Location;

use super::{Phase, Request, perform, with};
use crate::graph::{Id, Kind};

/// Makes the count of a shared value's handles. Its changes have no order, unless an execution has
/// looked at a count that was made here.
#[track_caller]
pub(crate) fn new_count(name: &'static str) -> Id {
    let at = Location::caller();
    let kind = with(|run| match &run.phase {
        Phase::Following(line) if line.front().is_some_and(|step| step.1.newer == 0) => {
            Kind::Atomic
        }
        _ if run.ordered.contains(&at) => Kind::Atomic,
        _ => Kind::Count,
    });
    perform(name, Request::Make { kind, value: 1 }).id
}

/// Whether the changes of a count have no order.
pub(crate) fn commutes(count: Id) -> bool {
    with(|run| run.graph.has_made(count) && matches!(run.graph.at(count).kind, Kind::Count))
}

/// Whether the running thread knows that it has the only handle.
pub(crate) fn is_only_handle(count: Id) -> bool {
    with(|run| {
        let known = run.graph.known_before(run.next_step());
        run.graph.handles(count, Some(&known)) == 1
    })
}
