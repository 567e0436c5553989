//! RISC-V with RVWMO: as on Armv8 all threads see a write at once. One order of all accesses includes the preserved program
//! order, whose rules are numbered as in the manual.

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
        &by_dependencies(graph),
    ])
}

/// Rules 1 to 3: before writes of the location; reads of two different writes with none between; what an exchange wrote.
fn same_location(graph: &Graph) -> Relation {
    let po_loc = graph.po_loc();
    let before_writes = graph.among(&po_loc, |_| true, |b| b.writes);
    let reads = graph.among(&po_loc, |a| a.reads, |b| b.reads);
    let over_writes = before_writes.then(&po_loc);
    let same_source =
        |a, b| (0..graph.accesses.len()).any(|w| graph.rf.has(w, a) && graph.rf.has(w, b));
    let reads = reads.filter(|a, b| !over_writes.has(a, b) && !same_source(a, b));
    let exchanged = graph.among(&graph.internal(&graph.rf), |a| a.is_exchange, |b| b.reads);
    Relation::union(&[&before_writes, &reads, &exchanged])
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

/// Rules 9 to 13: addresses, data, branches before writes; what a dependent write passes on; writes after an address.
fn by_dependencies(graph: &Graph) -> Relation {
    let Graph {
        addr, data, ctrl, ..
    } = graph;
    let branches = graph.among(ctrl, |_| true, |b| b.writes);
    let passed_on = Relation::union(&[addr, data]).then(&graph.internal(&graph.rf));
    let after_address = graph.among(&addr.then(&graph.po), |_| true, |b| b.writes);
    Relation::union(&[addr, data, &branches, &passed_on, &after_address])
}
