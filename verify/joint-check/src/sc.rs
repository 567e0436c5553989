//! The axiom of RC11 on `SeqCst` (Lahav, Vafeiadis, Kang, Hur, Dreyer: *Repairing Sequential
//! Consistency in C/C++11*, PLDI 2017, section 4): `psc` is acyclic.
//!
//! ```text
//! scb      =  sb ∪ sb≠loc; hb; sb≠loc ∪ hb=loc ∪ mo ∪ rb
//! psc_base =  ([E sc] ∪ [F sc]; hb?); scb; ([E sc] ∪ hb?; [F sc])
//! psc_F    =  [F sc]; (hb ∪ hb; eco; hb); [F sc]
//! psc      =  psc_base ∪ psc_F
//! ```
//!
//! Here `sb` is program order, `hb` happens-before, `mo` modification order, `rb` from reads to the
//! writes after those that they read from, and `eco` is `(rf ∪ mo ∪ rb)⁺`. `E sc` are the `SeqCst`
//! events, and `F sc` the fences among them.
//!
//! The events are numbered by thread and then in program order, and a set of events is a row of
//! bits. The events of a thread that happen after an event are a suffix of that thread, because
//! happens-before is closed under program order. Only the rows of `SeqCst` events are needed, and
//! each is made of ranges.

use core::ops::Range;

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

struct Relations<'a> {
    events: Vec<&'a Event>,
    /// The numbers of each thread's events.
    threads: Vec<Range<usize>>,
    /// The `SeqCst` events.
    sc: Vec<usize>,
    /// The locations with their writes, in modification order.
    writes: Vec<(Id, Id)>,
    /// Twice the position of each write in that list. The rank of a read is one more than that of
    /// its write.
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
    let ranks = vec![usize::MAX; events.len()];
    let mut relations = Relations {
        events,
        threads,
        sc,
        writes: Vec::new(),
        ranks,
    };
    let orders = (0..graph.threads.len() as u8).flat_map(|thread| graph.orders(thread));
    for (place, (made, write)) in orders.enumerate() {
        relations.writes.push((made, write));
        let write = relations.number(write);
        relations.ranks[write] = 2 * place;
    }
    for (n, event) in graph
        .events()
        .enumerate()
        .filter(|(_, event)| event.kind.is_read())
    {
        let source = relations.number(event.source.expect("a read has a source"));
        relations.ranks[n] = relations.ranks[source] + 1;
    }
    relations.psc_is_acyclic()
}

/// Whether two events are accesses or writes of the same location.
fn is_same(a: &Event, b: &Event) -> bool {
    let has_place = |event: &Event| event.kind.is_access() || event.kind.is_write();
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
        let later = self.writes.iter().skip(self.ranks[n] / 2 + 1);
        let later = later.filter(|(place, _)| *place == event.place);
        later.for_each(|&(_, write)| set.insert(self.number(write)));
        let elsewhere = (n + 1..own.end).find(|&next| !is_same(event, self.events[next]));
        if let Some(first) = elsewhere {
            // What happens after the first such event includes what happens after the others.
            for range in self.after(first) {
                let Some(one) = range.clone().next() else {
                    continue;
                };
                // Every event is preceded by one at another location, unless all are at the same
                // one.
                let one = self.events[one];
                let mut others = range.clone().skip(1);
                let change = others.find(|&n| !is_same(one, self.events[n]));
                (change.unwrap_or(range.end)..range.end).for_each(|later| set.insert(later));
            }
        }
        set
    }

    /// Returns the events to which `hb; scb` and `hb; eco` lead from a fence.
    fn beyond(&self, n: usize) -> [Set; 2] {
        let size = self.events.len();
        let (mut reached, mut between) = (Set::new(size), Set::new(size));
        // The lowest rank of each location.
        let mut lowest = vec![usize::MAX; size];
        for range in self.after(n) {
            for m in range.clone() {
                let event = self.events[m];
                let lowest = &mut lowest[self.number(event.place)];
                *lowest = self.ranks[m].min(*lowest);
                // The first event of a thread is reached only from one at the same location.
                let reaches = |other: usize| {
                    let other = self.events[other];
                    other.id != event.id && is_same(other, event) && other.id.is_in(&event.hb)
                };
                if m > range.start || self.after(n).flatten().any(reaches) {
                    reached.insert(m);
                }
            }
        }
        for (m, event) in self.events.iter().enumerate() {
            if self.ranks[m] > lowest[self.number(event.place)] {
                between.insert(m);
                if event.kind.is_write() {
                    reached.insert(m);
                }
            }
        }
        [reached, between]
    }

    /// The `SeqCst` events to which `psc` leads from one, by their positions in `sc`.
    fn psc(&self, n: usize) -> Set {
        let mut reached = self.before(n);
        let mut between = Set::new(self.events.len());
        if self.is_fence(n) {
            let [beyond, eco] = self.beyond(n);
            reached.add(&beyond);
            between = eco;
        }
        // The first event of each thread in a set.
        let firsts = |set: &Set| {
            let first = |thread: &Range<usize>| thread.clone().find(|&n| set.holds(n));
            self.threads.iter().map(first).collect::<Vec<_>>()
        };
        let [reached_first, between_first] = [firsts(&reached), firsts(&between)];
        let happens_before = |firsts: &[Option<usize>], fence: usize| {
            let mut firsts = firsts.iter().flatten();
            firsts.any(|&n| n != fence && self.events[n].id.is_in(&self.events[fence].hb))
        };
        let mut found = Set::new(self.sc.len());
        for (place, &other) in self.sc.iter().enumerate() {
            let fences = || {
                let id = self.events[n].id;
                happens_before(&reached_first, other)
                    || self.is_fence(n)
                        && (n != other && id.is_in(&self.events[other].hb)
                            || happens_before(&between_first, other))
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
