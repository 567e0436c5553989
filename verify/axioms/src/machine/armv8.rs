//! Armv8: all threads see a write at once, but each thread reorders its own accesses unless
//! something keeps them in order.
//!
//! `ob`, ordered-before, is acyclic. It contains what other threads observe, and the part of
//! program order that is kept by writes of the same place (`lws`), dependencies (`dob`), exchanges
//! (`aob`) and barriers (`bob`).
//!
//! Equations as in herd's `aarch64.cat`, which Arm maintains, since 2022. They differ in two places
//! from the model of 2018. There an acquire that reads its own thread's exchange came after the
//! *write* of the exchange (`[range(rmw)]; rfi; [A]`); now it comes after the read alone. And `lws`
//! stands for the `coi` in `po; [L]; coi` and `(ctrl ∪ data); coi`, with the same executions
//! allowed.

use super::{graph::Graph, mapping::Barrier};
use crate::Relation;

pub(super) fn allows(graph: &Graph) -> bool {
    let [rf, co, fr] = [&graph.rf, &graph.co, &graph.fr].map(|edges| graph.external(edges));
    let lws = by_writes(graph);
    let dob = graph.dependencies();
    let aob = by_exchanges(graph);
    let bob = by_barriers(graph);
    Relation::union(&[&rf, &co, &fr, &lws, &dob, &aob, &bob]).is_acyclic()
}

/// `po-loc; [W]`
fn by_writes(graph: &Graph) -> Relation {
    graph.among(&graph.po_loc(), |_| true, |b| b.writes)
}

/// `rmw ∪ rmw; rfi; [A]`
fn by_exchanges(graph: &Graph) -> Relation {
    let forwarded = graph.rmw.then(&graph.internal(&graph.rf));
    let acquired = graph.among(&forwarded, |_| true, |b| b.acquires);
    Relation::union(&[&graph.rmw, &acquired])
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
