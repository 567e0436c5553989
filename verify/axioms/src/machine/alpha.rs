//! Alpha: all threads see a write at once, but a thread may read an old value long after a new one
//! has arrived. Not even an address keeps a read in place: the processor may have put the message
//! that its copy of a line is invalid into a queue, and looks into that queue at its next barrier
//! (Paul McKenney: *Memory Barriers: a Hardware View for Software Hackers*, section 6.1).
//!
//! The axioms are those of the *Alpha Architecture Reference Manual* and of the *Alpha Architecture
//! Handbook* (version 4), section 5.6.1, where they have these names:
//!
//! | constraint | here |
//! |---|---|
//! | processor issue: in one thread, accesses of one location stay in order, but for a write before a read; a barrier keeps everything in order (table 5-1) | `issue` |
//! | location access and visibility: a write is `BEFORE` a read of another thread that finds it; a write and another access of its location are always ordered | `rfe`, `co`, `fr` |
//! | `BEFORE` is an order | `issue ∪ rfe ∪ co ∪ fr` is acyclic |
//! | dependence: no value is its own cause. "The DP relation does not directly impose a BEFORE ordering" | `dp ∪ rf` is acyclic |

use super::{graph::Graph, mapping::Barrier};
use crate::Relation;

pub(super) fn allows(graph: &Graph) -> bool {
    let issue = Relation::union(&[&by_location(graph), &graph.fenced(Barrier::Full)]);
    let seen = graph.external(&graph.rf);
    Relation::union(&[&issue, &seen, &graph.co, &graph.fr]).is_acyclic()
        && Relation::union(&[&depends(graph, &issue), &graph.rf]).is_acyclic()
}

/// `po-loc`, without `[W]; po-loc; [R]`.
fn by_location(graph: &Graph) -> Relation {
    let po_loc = graph.po_loc();
    po_loc.filter(|a, b| graph.accesses[a].reads || graph.accesses[b].writes)
}

/// `DP`, from a read to the writes that depend on it: by their value, by their address, or by
/// whether they run. Also to the writes after an access that depends on it so, if an issue
/// constraint keeps them after that, or would if its address were another.
fn depends(graph: &Graph, issue: &Relation) -> Relation {
    let Graph {
        addr, data, ctrl, ..
    } = graph;
    let direct = Relation::union(&[addr, data, ctrl]);
    let later = direct.then(issue);
    let after_address = addr.then(&graph.po);
    let all = Relation::union(&[&direct, &later, &after_address]);
    graph.among(&all, |_| true, |b| b.writes)
}
