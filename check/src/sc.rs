//! The axiom of RC11 on `SeqCst`: `psc` is acyclic.
//!
//! The events are numbered by thread and then in program order, and a set of events is a row of
//! bits. What happens after an event is, in each thread, all from some event on, because
//! happens-before is closed under program order. So only the rows of `SeqCst` events are made, and
//! each from ranges.

use core::{iter, ops::Range};

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

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(n, &word)| {
            let bits = iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
            let bits = bits.take_while(|&word| word != 0);
            bits.map(move |word| n * 64 + word.trailing_zeros() as usize)
        })
    }
}

struct Relations<'a> {
    graph: &'a Graph,
    events: Vec<&'a Event>,
    /// The numbers of each thread.
    threads: Vec<Range<usize>>,
    /// The `SeqCst` events.
    sc: Vec<usize>,
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
    let relations = Relations {
        graph,
        events,
        threads,
        sc,
    };
    relations.psc_is_acyclic()
}

/// Whether an event has a location that others can access.
fn has_place(event: &Event) -> bool {
    let kind = event.kind;
    kind.is_read() || kind.is_write() || matches!(kind, Kind::CellRead | Kind::CellWrite)
}

fn is_same(a: &Event, b: &Event) -> bool {
    has_place(a) && has_place(b) && a.place == b.place
}

impl Relations<'_> {
    fn number(&self, id: Id) -> usize {
        self.threads[usize::from(id.thread)].start + usize::from(id.index)
    }

    fn is_fence(&self, n: usize) -> bool {
        matches!(self.events[n].kind, Kind::Fence)
    }

    /// The first event of each thread that happens after an event, and those after it.
    fn after(&self, n: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let id = self.events[n].id;
        self.threads.iter().map(move |thread| {
            let events = &self.events[thread.clone()];
            let before = events.partition_point(|event| !id.is_in(&event.hb));
            let is_own = usize::from(thread.contains(&n));
            thread.start + before + is_own..thread.end
        })
    }

    /// The events that happen after an event, without itself.
    fn hb(&self, n: usize) -> Set {
        let mut set = Set::new(self.events.len());
        self.after(n).flatten().for_each(|n| set.insert(n));
        set
    }

    /// The writes that are ordered after a write, or after the one that a read reads from.
    fn mo_fr(&self, n: usize) -> impl Iterator<Item = usize> + '_ {
        let event = self.events[n];
        let from = match event.source {
            Some(source) if event.kind.is_read() => Some(source),
            _ => event.kind.is_write().then_some(event.id),
        };
        let order = self.graph.order(event.place);
        let later = order.skip_while(move |&write| Some(write) != from).skip(1);
        later
            .map(|write| self.number(write))
            .filter(move |&m| m != n)
    }

    /// `scb`: program order, happens-before at one location, or between other locations on both
    /// sides, modification order, and from reads to later writes.
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
        self.mo_fr(n).for_each(|later| set.insert(later));
        let elsewhere = (n + 1..own.end).find(|&next| !is_same(event, self.events[next]));
        if let Some(first) = elsewhere {
            // What happens after the first such event includes what happens after the others.
            for range in self.after(first) {
                let Some(one) = range.clone().next() else {
                    continue;
                };
                // An event has one of another location before it, unless all have its own.
                let one = self.events[one];
                let mut others = range.clone().skip(1);
                let change = others.find(|&n| !is_same(one, self.events[n]));
                (change.unwrap_or(range.end)..range.end).for_each(|later| set.insert(later));
            }
        }
        set
    }

    /// What is reached from a set by modification order, reads-from and from-reads.
    fn eco(&self, from: &Set) -> Set {
        let mut found = Set::new(self.events.len());
        let mut next: Vec<_> = from.iter().collect();
        while let Some(n) = next.pop() {
            let id = self.events[n].id;
            let readers = (0..self.events.len()).filter(|&m| self.events[m].source == Some(id));
            for later in self.mo_fr(n).chain(readers) {
                if !found.holds(later) {
                    found.insert(later);
                    next.push(later);
                }
            }
        }
        found
    }

    /// The `SeqCst` events that come after one, by their places in the list.
    fn psc(&self, n: usize) -> Set {
        let mut reached = self.before(n);
        let mut between = Set::new(self.events.len());
        if self.is_fence(n) {
            let after = self.hb(n);
            after
                .iter()
                .for_each(|later| reached.add(&self.before(later)));
            between = self.eco(&after);
        }
        let happens_before = |set: &Set, fence: usize| {
            set.iter()
                .any(|n| n != fence && self.events[n].id.is_in(&self.events[fence].hb))
        };
        let mut found = Set::new(self.sc.len());
        for (place, &other) in self.sc.iter().enumerate() {
            let fences = || {
                let id = self.events[n].id;
                happens_before(&reached, other)
                    || self.is_fence(n)
                        && (n != other && id.is_in(&self.events[other].hb)
                            || happens_before(&between, other))
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
