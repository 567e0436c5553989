//! Armv8: all threads see a write at once, each thread reorders its own accesses unless something keeps them in order.
//!
//! `ob`, ordered-before, is acyclic. It has what other threads observe, and of program order what dependencies (`dob`), exchanges
//! (`aob`) and barriers (`bob`) keep.

use super::{graph::Graph, mapping::Barrier};
use crate::Relation;

pub(super) fn allows(graph: &Graph) -> bool {
    let [rf, co, fr] = [&graph.rf, &graph.co, &graph.fr].map(|edges| graph.external(edges));
    let dob = by_dependencies(graph);
    let aob = by_exchanges(graph);
    let bob = by_barriers(graph);
    Relation::union(&[&rf, &co, &fr, &dob, &aob, &bob]).is_acyclic()
}

/// `addr ∪ data ∪ ctrl; [W] ∪ addr; po; [W] ∪ (addr ∪ data); rfi`
fn by_dependencies(graph: &Graph) -> Relation {
    let Graph {
        addr, data, ctrl, ..
    } = graph;
    let ctrl = graph.among(ctrl, |_| true, |b| b.writes);
    let after_address = graph.among(&addr.then(&graph.po), |_| true, |b| b.writes);
    let forwarded = Relation::union(&[addr, data]).then(&graph.internal(&graph.rf));
    Relation::union(&[addr, data, &ctrl, &after_address, &forwarded])
}

/// `rmw ∪ [range(rmw)]; rfi; [A]`
fn by_exchanges(graph: &Graph) -> Relation {
    let forwarded = graph.among(
        &graph.internal(&graph.rf),
        |a| a.is_exchange,
        |b| b.acquires,
    );
    Relation::union(&[&graph.rmw, &forwarded])
}

/// `po; [dmb.full]; po ∪ [R]; po; [dmb.ld]; po ∪ [A]; po ∪ po; [L] ∪ [L]; po; [A]`
fn by_barriers(graph: &Graph) -> Relation {
    let full = graph.fenced(Barrier::Full);
    let reads = graph.fenced(Barrier::AfterReads);
    let acquire = graph.among(&graph.po, |a| a.acquires, |_| true);
    let release = graph.among(&graph.po, |_| true, |b| b.releases);
    let both = graph.among(&graph.po, |a| a.releases, |b| b.acquires);
    Relation::union(&[&full, &reads, &acquire, &release, &both])
}
