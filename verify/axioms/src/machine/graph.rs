//! The machine's memory accesses in one execution, and the edges that the axioms of all machines
//! use.

use super::{
    Machine,
    mapping::{Barrier, barriers},
};
use crate::{Event, Execution, Location, Relation, execution::Edges};

/// A memory access. A fence is an access that neither reads nor writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The event that it is, or that it is half of.
    event: usize,
    pub(super) thread: Option<usize>,
    pub(super) reads: bool,
    pub(super) writes: bool,
    location: Option<Location>,
    /// Whether an acquire half is written into the instruction: `ldar`, `.aq`.
    pub(super) acquires: bool,
    /// Whether a release half is: `stlr`, `.rl`.
    pub(super) releases: bool,
    /// Whether it is an exchange or a half of one.
    pub(super) is_exchange: bool,
}

/// The accesses and their edges. Names as in the models' papers.
pub(super) struct Graph {
    machine: Machine,
    pub(super) accesses: Vec<Access>,
    events: Vec<Event>,
    pub(super) po: Relation,
    pub(super) rf: Relation,
    pub(super) co: Relation,
    pub(super) fr: Relation,
    /// From the read of an exchange to its write, where these are two.
    pub(super) rmw: Relation,
    pub(super) addr: Relation,
    pub(super) data: Relation,
    pub(super) ctrl: Relation,
}

impl Graph {
    pub(super) fn new(machine: Machine, execution: &Execution) -> Self {
        let events = execution.events();
        let accesses: Vec<Access> = (0..events.len())
            .flat_map(|id| accesses(machine, events, id))
            .collect();
        let size = accesses.len();
        assert!(size <= 64, "more than 64 accesses");
        let Edges { po, rf, mo, fr, .. } = execution.edges();
        let over = |relation: &Relation, fits: fn(&Access, &Access) -> bool| {
            Relation::of(size, |a, b| {
                let (a, b) = (&accesses[a], &accesses[b]);
                relation.has(a.event, b.event) && fits(a, b)
            })
        };
        let halves = Relation::of(size, |a, b| a < b && accesses[a].event == accesses[b].event);
        let po = Relation::union(&[&over(po, |_, _| true), &halves]);
        let needs = |needed: fn(&Event, usize) -> bool| {
            Relation::of(size, |a, b| {
                let (from, to) = (&events[accesses[a].event], &events[accesses[b].event]);
                po.has(a, b) && accesses[a].reads && needed(to, from.step)
            })
        };
        let addr = needs(|event, step| event.needs.address == Some(step));
        let data = needs(|event, step| event.needs.data.contains(&step));
        let ctrl = needs(|event, step| event.needs.control.contains(&step));
        Self {
            machine,
            events: events.to_vec(),
            rf: over(rf, |a, b| a.writes && b.reads),
            co: over(mo, |a, b| a.writes && b.writes),
            fr: Relation::union(&[&over(fr, |a, b| a.reads && b.writes), &halves]),
            rmw: halves,
            addr,
            data: data.filter(|_, b| accesses[b].writes),
            ctrl,
            po,
            accesses,
        }
    }

    /// Edges between accesses that fit.
    pub(super) fn among(
        &self,
        relation: &Relation,
        from: impl Fn(&Access) -> bool,
        to: impl Fn(&Access) -> bool,
    ) -> Relation {
        relation.filter(|a, b| from(&self.accesses[a]) && to(&self.accesses[b]))
    }

    /// The dependencies that keep their order on machines that have any: addresses, data, branches
    /// before writes; what a dependent write passes on; writes after an address.
    /// `addr ∪ data ∪ ctrl; [W] ∪ addr; po; [W] ∪ (addr ∪ data); rfi`
    pub(super) fn dependencies(&self) -> Relation {
        let Self {
            addr, data, ctrl, ..
        } = self;
        let branches = self.among(ctrl, |_| true, |b| b.writes);
        let after_address = self.among(&addr.then(&self.po), |_| true, |b| b.writes);
        let passed_on = Relation::union(&[addr, data]).then(&self.internal(&self.rf));
        Relation::union(&[addr, data, &branches, &after_address, &passed_on])
    }

    /// Edges between threads, or from the initial values of the locations.
    pub(super) fn external(&self, relation: &Relation) -> Relation {
        relation.filter(|a, b| self.accesses[a].thread != self.accesses[b].thread)
    }

    pub(super) fn internal(&self, relation: &Relation) -> Relation {
        relation.filter(|a, b| self.accesses[a].thread == self.accesses[b].thread)
    }

    pub(super) fn po_loc(&self) -> Relation {
        let at = |id: usize| self.accesses[id].location;
        self.po.filter(|a, b| at(a).is_some() && at(a) == at(b))
    }

    /// The pairs that the barriers of this kind keep in order.
    pub(super) fn fenced(&self, barrier: Barrier) -> Relation {
        let around: Vec<_> = (self.events.iter())
            .map(|event| barriers(self.machine, event))
            .collect();
        let po = |a: usize, b: usize| self.po.has(a, b);
        let size = self.accesses.len();
        let (halves, same) = (&self.rmw, |a, b| a == b);
        // Points between accesses: before one or after one, with both halves on the same side.
        let whole = |a, b| same(a, b) || halves.has(a, b) || halves.has(b, a);
        let between = |a: usize, b: usize| {
            (0..size).any(|at| {
                let barriers = around[self.accesses[at].event];
                let before = barriers.before == Some(barrier)
                    && po(a, at)
                    && !whole(a, at)
                    && (whole(at, b) || po(at, b));
                let after = barriers.after == Some(barrier)
                    && po(at, b)
                    && !whole(at, b)
                    && (whole(a, at) || barrier != Barrier::AfterBranch && po(a, at));
                before || after
            })
        };
        Relation::of(size, |a, b| {
            po(a, b) && self.orders(barrier, a, b) && between(a, b)
        })
    }

    fn orders(&self, barrier: Barrier, a: usize, b: usize) -> bool {
        let (a, b) = (&self.accesses[a], &self.accesses[b]);
        let accesses = (a.reads || a.writes) && (b.reads || b.writes);
        accesses
            && match barrier {
                Barrier::Full => true,
                Barrier::Light => a.reads || b.writes,
                Barrier::AfterReads | Barrier::AfterBranch => a.reads,
                Barrier::BeforeWrites => b.writes,
            }
    }
}

fn accesses(machine: Machine, events: &[Event], id: usize) -> Vec<Access> {
    let event = &events[id];
    let ordering = event.ordering.filter(|_| !event.is_fence());
    let whole = Access {
        event: id,
        thread: event.thread,
        reads: event.kind.reads(),
        writes: event.kind.writes(),
        location: event.location,
        acquires: event.kind.reads() && ordering.is_some_and(|ordering| ordering.acquires()),
        releases: event.kind.writes() && ordering.is_some_and(|ordering| ordering.releases()),
        is_exchange: event.kind.is_exchange(),
    };
    if !(whole.is_exchange && machine.splits_exchanges()) {
        return vec![whole];
    }
    let read = Access {
        writes: false,
        releases: false,
        ..whole
    };
    let write = Access {
        reads: false,
        acquires: false,
        ..whole
    };
    vec![read, write]
}
