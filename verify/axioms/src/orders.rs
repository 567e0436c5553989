//! Orders for the writes of each location: all that are coherent and keep exchanges atomic.

use crate::{Event, EventId, Location, Relation, candidate::Candidate};

/// Every order of the writes of a location that is coherent with happens-before and in which each
/// exchange comes right after what it read.
pub(crate) fn orders(
    candidate: &Candidate,
    location: Location,
    hb: &Relation,
) -> Vec<Vec<EventId>> {
    let events = &candidate.events;
    let here = |&id: &EventId| events[id].location == Some(location);
    let accesses: Vec<EventId> = (0..events.len()).filter(here).collect();
    let writes = accesses
        .iter()
        .copied()
        .filter(|&id| events[id].kind.writes())
        .collect();
    let rf = candidate.rf.filter(|_, read| here(&read));
    let mut search = Search {
        events,
        rf,
        hb,
        found: Vec::new(),
    };
    search.place(&mut Vec::new(), writes);
    search.found
}

/// Modification order and from-read, for all reads in `rf`, with the writes of each location in the
/// order given.
pub(crate) fn edges(orders: &[Vec<EventId>], rf: &Relation, size: usize) -> (Relation, Relation) {
    let mut mo = Relation::empty(size);
    for order in orders {
        for (place, &earlier) in order.iter().enumerate() {
            order[place + 1..]
                .iter()
                .for_each(|&later| mo.insert(earlier, later));
        }
    }
    let mut fr = Relation::empty(size);
    for (write, read) in rf.pairs() {
        let later = (0..size).filter(|&id| id != read && mo.has(write, id));
        later.for_each(|id| fr.insert(read, id));
    }
    (mo, fr)
}

struct Search<'c> {
    events: &'c [Event],
    /// Reads-from at this location.
    rf: Relation,
    hb: &'c Relation,
    found: Vec<Vec<EventId>>,
}

impl Search<'_> {
    fn place(&mut self, order: &mut Vec<EventId>, left: Vec<EventId>) {
        if left.is_empty() && self.is_coherent(order) {
            self.found.push(order.clone());
        }
        for &next in &left {
            if self.may_follow(next, order, &left) {
                let rest = left.iter().copied().filter(|&write| write != next);
                order.push(next);
                self.place(order, rest.collect());
                order.pop();
            }
        }
    }

    /// Whether all that must come before `next` is placed: what happens before it, and for an
    /// exchange, last, what it read.
    fn may_follow(&self, next: EventId, order: &[EventId], left: &[EventId]) -> bool {
        let too_early = left.iter().any(|&write| self.hb.has(write, next));
        let read_last = || order.last().is_some_and(|&last| self.rf.has(last, next));
        !too_early && (!self.events[next].kind.is_exchange() || read_last())
    }

    /// Coherence: what happens after an access comes after it at its location too. `hb; eco` is
    /// irreflexive.
    fn is_coherent(&self, order: &[EventId]) -> bool {
        let (mo, fr) = edges(&[order.to_vec()], &self.rf, self.events.len());
        let eco = Relation::union(&[&self.rf, &mo, &fr]).closure();
        eco.pairs().all(|(a, b)| a != b && !self.hb.has(b, a))
    }
}
