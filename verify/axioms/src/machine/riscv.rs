//! RISC-V with RVWMO: as on Armv8 all threads see a write at once. One order of all accesses
//! includes the preserved program order, whose rules are numbered as in the manual.

use super::{graph::Graph, mapping::Barrier};
use crate::Relation;

pub(super) fn allows(graph: &Graph) -> bool {
    let seen = graph.external(&graph.rf);
    let ppo = preserved(graph);
    Relation::union(&[&ppo, &seen, &graph.co, &graph.fr]).is_acyclic()
}

fn preserved(graph: &Graph) -> Relation {
    Relation::union(&[
        &same_location(graph),
        &by_annotations(graph),
        // Rules 9 to 13.
        &graph.dependencies(),
    ])
}

/// Rule 3: what an exchange wrote, when its own thread reads it. Rules 1 and 2 add nothing to the
/// other edges: a write comes after the accesses of its location before it in `co` or `fr`, and a
/// second read that finds another write after it by `fr; rf`.
fn same_location(graph: &Graph) -> Relation {
    let internal = graph.internal(&graph.rf);
    graph.among(&internal, |a| a.is_exchange, |b| b.reads)
}

/// Rules 4 to 7: fences; after an acquire; before a release; between those with annotations.
fn by_annotations(graph: &Graph) -> Relation {
    let kinds = [
        Barrier::Full,
        Barrier::Light,
        Barrier::AfterReads,
        Barrier::BeforeWrites,
    ];
    let fences = kinds.map(|barrier| graph.fenced(barrier));
    // Loads and stores have no annotations but fences.
    let acquire = graph.among(&graph.po, |a| a.is_exchange && a.acquires, |_| true);
    let release = graph.among(&graph.po, |_| true, |b| b.is_exchange && b.releases);
    let annotated = |a: &super::graph::Access| a.is_exchange && (a.acquires || a.releases);
    let both = graph.among(&graph.po, annotated, annotated);
    let fences = Relation::union(&fences.each_ref());
    Relation::union(&[&fences, &acquire, &release, &both])
}
