//! The axiom on `SeqCst`: `psc` is acyclic. It is RC11's (Lahav, Vafeiadis, Kang, Hur, Dreyer:
//! *Repairing Sequential Consistency in C/C++11*, PLDI 2017, section 4) with C++20's words: `eco`
//! is its *coherence-ordered before*, and `sb; hb; sb` its *strongly happens before*. RC11 has
//! `mo ∪ rb` and `sb≠loc; hb; sb≠loc` in their places.
//!
//! ```text
//! scb =  sb ∪ sb; hb; sb ∪ hb=loc ∪ eco
//! psc =  ([E sc] ∪ [F sc]; hb?); scb; ([E sc] ∪ hb?; [F sc])  ∪  [F sc]; hb; [F sc]
//! ```
//!
//! Here `sb` is program order, `hb` happens-before, and `eco` is `(rf ∪ mo ∪ rb)⁺`: reads-from,
//! modification order, and from reads to the writes after those that they read from. `E sc` are the
//! `SeqCst` events, and `F sc` the fences among them. An exchange is two events here, and nothing
//! lies between them in `sb; hb; sb`.
//!
//! The events are numbered by thread and then in program order, and a set of events is a row of
//! bits. The events of a thread that happen after an event are a suffix of that thread, because
//! happens-before is closed under program order. Only the rows of `SeqCst` events are needed, and
//! each is made of ranges.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::graph::{Event, Graph, Id, Kind};

/// A set of events.
#[derive(Clone, Debug, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn holds(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 == 1
    }

    fn insert(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }

    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

/// The rank of an event that neither writes nor reads a write.
const UNRANKED: usize = usize::MAX;

struct Relations<'a> {
    graph: &'a Graph,
    events: Vec<&'a Event>,
    /// The numbers of each thread's events.
    threads: Vec<Range<usize>>,
    /// The `SeqCst` events.
    sc: Vec<usize>,
    /// Twice the position of each write in a list in which the writes of a location are
    /// in modification order. The rank of a read is one more than that of its write. `eco` leads to
    /// the events of the location with a higher rank.
    ranks: Vec<usize>,
}

/// Whether `psc` is acyclic.
pub(crate) fn is_consistent(graph: &Graph) -> bool {
    if graph.sc < 2 {
        return true;
    }
    let mut start = 0;
    let threads = graph.threads.iter().map(|events| {
        let numbers = start..start + events.len();
        start = numbers.end;
        numbers
    });
    let threads = threads.collect();
    let events: Vec<_> = graph.events().collect();
    let sc = (0..events.len()).filter(|&n| events[n].is_sc()).collect();
    let ranks = vec![UNRANKED; events.len()];
    let mut relations = Relations {
        graph,
        events,
        threads,
        sc,
        ranks,
    };
    let orders = (0..graph.threads.len() as u8).flat_map(|thread| graph.orders(thread));
    for (place, (_, write)) in orders.enumerate() {
        let write = relations.number(write);
        relations.ranks[write] = 2 * place;
    }
    for (n, event) in graph
        .events()
        .enumerate()
        .filter(|(_, event)| event.kind.is_read() && !event.takes() && !event.reads_nothing())
    {
        let source = relations.number(event.source.expect("a read has a source"));
        relations.ranks[n] = relations.ranks[source] + 1;
    }
    relations.psc_is_acyclic()
}

/// Whether two events are accesses or writes of the same location.
fn is_same(a: &Event, b: &Event) -> bool {
    let accesses = |event: &Event| event.kind.is_access() && !event.reads_nothing();
    let has_place = |event: &Event| accesses(event) || event.kind.is_write();
    has_place(a) && has_place(b) && a.place == b.place
}

impl Relations<'_> {
    fn number(&self, id: Id) -> usize {
        self.threads[usize::from(id.thread)].start + usize::from(id.index)
    }

    fn is_fence(&self, n: usize) -> bool {
        matches!(self.events[n].kind, Kind::Fence)
    }

    /// For each thread, the events that happen after an event.
    fn after(&self, n: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let id = self.events[n].id;
        self.threads.iter().map(move |thread| {
            let events = &self.events[thread.clone()];
            let before = events.partition_point(|event| !id.is_in(&event.hb));
            let is_own = usize::from(thread.contains(&n));
            thread.start + before + is_own..thread.end
        })
    }

    /// The event after which the next operation of the thread comes: the write of an exchange.
    fn end_of(&self, n: usize) -> usize {
        let event = self.events[n];
        let writes = event.kind.is_read() && event.outcome().0.is_some();
        n + usize::from(writes)
    }

    /// Adds the events to which `eco` leads from one of a location with this rank.
    fn add_eco(&self, set: &mut Set, place: Id, rank: usize) {
        for event in self.graph.all_accesses(place) {
            let m = self.number(event.id);
            if self.ranks[m] > rank && self.ranks[m] != UNRANKED {
                set.insert(m);
            }
        }
    }

    /// The events to which `scb` leads from an event.
    fn before(&self, n: usize) -> Set {
        let event = self.events[n];
        let own = &self.threads[usize::from(event.id.thread)];
        let mut set = Set::new(self.events.len());
        (n + 1..own.end).for_each(|later| set.insert(later));
        for later in self.after(n).flatten() {
            if is_same(event, self.events[later]) {
                set.insert(later);
            }
        }
        self.add_eco(&mut set, event.place, self.ranks[n]);
        let next = self.end_of(n) + 1;
        if own.contains(&next) {
            // What happens after the next operation includes what happens after later ones.
            for range in self.after(next) {
                if !range.is_empty() {
                    let first = self.end_of(range.start);
                    (first + 1..range.end).for_each(|later| set.insert(later));
                }
            }
        }
        set
    }

    /// Adds the events to which `hb; scb` leads from a fence.
    fn add_beyond(&self, set: &mut Set, n: usize) {
        // The lowest rank of each location.
        let mut lowest = BTreeMap::new();
        for range in self.after(n) {
            for m in range.clone() {
                let event = self.events[m];
                let lowest = lowest.entry(event.place).or_insert(UNRANKED);
                *lowest = self.ranks[m].min(*lowest);
                // The first event of a thread is reached only from one at the same location.
                let reaches = |other: usize| {
                    let other = self.events[other];
                    other.id != event.id && is_same(other, event) && other.id.is_in(&event.hb)
                };
                if m > range.start || self.after(n).flatten().any(reaches) {
                    set.insert(m);
                }
            }
        }
        for (place, rank) in lowest {
            self.add_eco(set, place, rank);
        }
    }

    /// The `SeqCst` events to which `psc` leads from one, by their positions in `sc`.
    fn psc(&self, n: usize) -> Set {
        let mut reached = self.before(n);
        if self.is_fence(n) {
            self.add_beyond(&mut reached, n);
        }
        // The first event of each thread that is reached.
        let first = |thread: &Range<usize>| thread.clone().find(|&n| reached.holds(n));
        let firsts: Vec<_> = self.threads.iter().filter_map(first).collect();
        let is_before = |one: usize, fence: usize| {
            one != fence && self.events[one].id.is_in(&self.events[fence].hb)
        };
        let mut found = Set::new(self.sc.len());
        for (place, &other) in self.sc.iter().enumerate() {
            let fences = || {
                firsts.iter().any(|&one| is_before(one, other))
                    || self.is_fence(n) && is_before(n, other)
            };
            if reached.holds(other) || self.is_fence(other) && fences() {
                found.insert(place);
            }
        }
        found
    }

    fn psc_is_acyclic(&self) -> bool {
        let mut rows: Vec<_> = self.sc.iter().map(|&n| self.psc(n)).collect();
        for through in 0..rows.len() {
            let next = rows[through].clone();
            for row in &mut rows {
                if row.holds(through) {
                    row.add(&next);
                }
            }
        }
        rows.iter().enumerate().all(|(n, row)| !row.holds(n))
    }
}
