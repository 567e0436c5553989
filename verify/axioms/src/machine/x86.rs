//! x86-TSO: a write may wait in the processor's buffer while later reads of others' locations go
//! ahead. Nothing else is weak.

use super::{graph::Graph, mapping::Barrier};
use crate::Relation;

pub(super) fn allows(graph: &Graph) -> bool {
    let kept = graph.po.filter(|a, b| {
        let (a, b) = (&graph.accesses[a], &graph.accesses[b]);
        let accesses = (a.reads || a.writes) && (b.reads || b.writes);
        // A locked instruction reads and writes: it waits for the buffer, and is not put into it.
        accesses && (a.reads || b.writes)
    });
    let fenced = graph.fenced(Barrier::Full);
    let seen = graph.external(&graph.rf);
    Relation::union(&[&kept, &fenced, &seen, &graph.co, &graph.fr]).is_acyclic()
}
