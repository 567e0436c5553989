//! POWER: a write may reach one thread before another, and only barriers say which writes arrive
//! together.
//!
//! Five axioms: coherence, which every machine has; no thin air; observation; propagation; and that
//! the writes of one thread's exchanges take effect in program order. Names and equations are those
//! of *Herding Cats* and, for the last one (`scXX`), of herd's `ppc.cat`.
//!
//! One thing differs from `ppc.cat`: an exchange with acquire, `lwarx, stwcx., bne, isync`, is an
//! import barrier here. `ppc.cat` wants a branch on the *loaded* value before the `isync`. The
//! architecture does not (Power ISA, book II, appendix B.2, on acquiring a lock): the branch on the
//! success of the `stwcx.` is not decided before the `stwcx.` has completed, and the `lwarx` before
//! it. So the `isync` after that branch holds later accesses back until the exchange is done.
//! Compilers rely on it.

use super::{
    graph::{Access, Graph},
    mapping::Barrier,
};
use crate::Relation;

pub(super) fn allows(graph: &Graph) -> bool {
    let strong = graph.fenced(Barrier::Full);
    let light = graph.fenced(Barrier::Light);
    let fences = Relation::union(&[&strong, &light]);
    let [rfe, fre] = [&graph.rf, &graph.fr].map(|edges| graph.external(edges));
    let hb = Relation::union(&[&preserved(graph), &fences, &rfe]);
    let paths = hb.closure().or_same();
    let base = Relation::union(&[&fences, &rfe.then(&fences)]).then(&paths);
    let arrives = graph.among(&base, |a| a.writes, |b| b.writes);
    let com = Relation::union(&[&graph.rf, &graph.co, &graph.fr]);
    let before = com.closure().or_same().then(&base.closure().or_same());
    let prop = Relation::union(&[&arrives, &before.then(&strong).then(&paths)]);
    let exchanges = graph.among(&graph.po, is_of_exchange, is_of_exchange);
    hb.is_acyclic()
        && Relation::union(&[&graph.co, &exchanges]).is_acyclic()
        && fre.then(&prop).then(&paths).is_irreflexive()
        && Relation::union(&[&graph.co, &prop]).is_acyclic()
}

fn is_of_exchange(access: &Access) -> bool {
    access.writes && access.is_exchange
}

/// Preserved program order. Each access is initiated and later committed; `xy` is from `x` of the
/// first to `y` of the second.
struct Stages {
    ii: Relation,
    ic: Relation,
    ci: Relation,
    cc: Relation,
}

fn preserved(graph: &Graph) -> Relation {
    let first = direct(graph);
    let mut now = grown(&first, &first);
    loop {
        let next = grown(&first, &now);
        if [&next.ii, &next.ic, &next.ci, &next.cc] == [&now.ii, &now.ic, &now.ci, &now.cc] {
            break;
        }
        now = next;
    }
    let reads = graph.among(&now.ii, |a| a.reads, |b| b.reads);
    let writes = graph.among(&now.ic, |a| a.reads, |b| b.writes);
    Relation::union(&[&reads, &writes])
}

fn direct(graph: &Graph) -> Stages {
    let Graph {
        addr, data, ctrl, ..
    } = graph;
    let dependencies = Relation::union(&[addr, data]);
    let po_loc = graph.po_loc();
    let [rfe, coe, fre] = [&graph.rf, &graph.co, &graph.fr].map(|edges| graph.external(edges));
    let there_and_back = |out: &Relation| {
        let back = out.then(&rfe);
        po_loc.filter(|a, b| back.has(a, b))
    };
    let forwarded = graph.internal(&graph.rf);
    let branched = graph.fenced(Barrier::AfterBranch);
    let after_address = addr.then(&graph.po);
    Stages {
        ii: Relation::union(&[&dependencies, &forwarded, &there_and_back(&fre)]),
        ic: Relation::empty(graph.accesses.len()),
        ci: Relation::union(&[&branched, &there_and_back(&coe)]),
        cc: Relation::union(&[&dependencies, &po_loc, ctrl, &after_address]),
    }
}

fn grown(first: &Stages, now: &Stages) -> Stages {
    let Stages { ii, ic, ci, cc } = now;
    Stages {
        ii: Relation::union(&[&first.ii, ci, &ic.then(ci), &ii.then(ii)]),
        ic: Relation::union(&[&first.ic, ii, cc, &ic.then(cc), &ii.then(ic)]),
        ci: Relation::union(&[&first.ci, &ci.then(ii), &cc.then(ci)]),
        cc: Relation::union(&[&first.cc, ci, &ci.then(ic), &cc.then(cc)]),
    }
}
