//! Which executions are allowed: the axioms of RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer:
//! *Repairing Sequential Consistency in C/C++11*, PLDI 2017), with the release sequences and the
//! order of `SeqCst` operations of C++20. The crate's README has the differences.
//!
//! | axiom | says |
//! |---|---|
//! | coherence | `hb; eco?` is irreflexive, where `eco` is `(rf ∪ mo ∪ fr)⁺` |
//! | atomicity | an exchange comes right after the write that it read, in `mo` |
//! | SC | `psc` is acyclic |
//! | no thin air | `po ∪ rf` is acyclic |
//!
//! An exchange is one event here, and two in the paper. It makes no difference: what reaches the
//! read reaches the write, and by atomicity what leaves the read for another write leaves the write
//! as well.

use crate::{Event, Relation, execution::Edges};

/// Which executions are allowed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Model {
    /// Interleavings on one memory: what the orderings say is moot, though races stay races.
    Interleaving,
    /// RC11, all of it.
    Rc11,
    /// RC11 without its axiom against thin air. Load buffering is allowed, as in C11 and on Armv8,
    /// POWER and RISC-V, and so is what no machine does: values that are their own cause.
    Buffering,
}

impl Model {
    /// All of them, each allowing all that those before it do.
    pub const ALL: [Self; 3] = [Self::Interleaving, Self::Rc11, Self::Buffering];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interleaving => "interleaving",
            Self::Rc11 => "rc11",
            Self::Buffering => "rc11 without no-thin-air",
        }
    }

    /// Whether it allows an execution that is coherent, keeps exchanges atomic, and comes from
    /// graphs that the model wants.
    pub(crate) fn allows(self, events: &[Event], edges: &Edges) -> bool {
        let Edges { po, rf, mo, fr, .. } = edges;
        match self {
            Self::Interleaving => Relation::union(&[po, rf, mo, fr]).is_acyclic(),
            Self::Rc11 | Self::Buffering => {
                !events.iter().any(Event::is_sc) || psc(events, edges).is_acyclic()
            }
        }
    }
}

/// `[E ⊒ rel]; ([F]; po)?; rs; rf; [R ⊒ rlx]; (po; [F])?; [E ⊒ acq]`, between threads, where `rs`
/// is `[W ⊒ rlx]; (rf; rmw)*`.
pub(crate) fn synchronizes_with(events: &[Event], po: &Relation, rf: &Relation) -> Relation {
    let fence_or_same = |fence: usize, access: usize, ordered: bool| {
        !events[access].is_fence()
            && !events[access].kind.is_plain()
            && (fence == access || events[fence].is_fence() && ordered)
    };
    let size = events.len();
    let releases = Relation::of(size, |start, write| {
        let ends = events[start].releases() && events[write].kind.writes();
        ends && fence_or_same(start, write, po.has(start, write))
    });
    let acquires = Relation::of(size, |read, end| {
        let ends = events[end].acquires() && events[read].kind.reads();
        ends && fence_or_same(end, read, po.has(read, end))
    });
    let exchanged = rf.filter(|_, read| events[read].kind.is_exchange());
    let release_sequence = exchanged.closure().or_same();
    let paths = releases.then(&release_sequence).then(rf).then(&acquires);
    paths.filter(|start, end| events[start].thread != events[end].thread)
}

/// Paths of program order and synchronizes-with, after what the locations hold at first.
pub(crate) fn happens_before(events: &[Event], po: &Relation, sw: &Relation) -> Relation {
    let first = Relation::of(events.len(), |a, b| {
        events[a].thread.is_none() && events[b].thread.is_some()
    });
    Relation::union(&[po, sw, &first]).closure()
}

/// `([E sc] ∪ [F sc]; hb?); scb; ([E sc] ∪ hb?; [F sc])  ∪  [F sc]; hb; [F sc]`. RC11's
/// `[F sc]; hb; eco; hb; [F sc]` is in it, because `scb` includes `eco`.
fn psc(events: &[Event], edges: &Edges) -> Relation {
    let hb = &edges.hb;
    let size = events.len();
    let sc = Relation::identity(size, |id| events[id].is_sc());
    let fence = Relation::identity(size, |id| events[id].is_sc() && events[id].is_fence());
    let maybe_hb = hb.or_same();
    let start = Relation::union(&[&sc, &fence.then(&maybe_hb)]);
    let end = Relation::union(&[&sc, &maybe_hb.then(&fence)]);
    let base = start.then(&sc_before(events, edges)).then(&end);
    Relation::union(&[&base, &fence.then(hb).then(&fence)])
}

/// `po ∪ po; hb; po ∪ hb=loc ∪ eco`: what C++20 calls strongly happens before, and
/// coherence-ordered before.
fn sc_before(events: &[Event], edges: &Edges) -> Relation {
    let Edges {
        po, rf, mo, fr, hb, ..
    } = edges;
    let same = |a: usize, b: usize| {
        events[a].location.is_some() && events[a].location == events[b].location
    };
    let eco = Relation::union(&[rf, mo, fr]).closure();
    let around = po.then(hb).then(po);
    Relation::union(&[po, &around, &hb.filter(same), &eco])
}
