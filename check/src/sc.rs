//! The axiom of RC11 on `SeqCst`: `psc` is acyclic.

use crate::graph::{Graph, Id, Kind};

/// A relation of events, a row of bits for each.
#[derive(Clone)]
struct Relation {
    rows: Vec<[u64; WORDS]>,
}

const WORDS: usize = 4;

impl Relation {
    fn of(size: usize, mut has: impl FnMut(usize, usize) -> bool) -> Self {
        let row = |a| {
            let mut row = [0; WORDS];
            for b in 0..size {
                row[b / 64] |= u64::from(has(a, b)) << (b % 64);
            }
            row
        };
        Self {
            rows: (0..size).map(row).collect(),
        }
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a][b / 64] >> (b % 64) & 1 == 1
    }

    fn then(&self, other: &Self) -> Self {
        let row = |row: &[u64; WORDS]| {
            let mut all = [0; WORDS];
            for (b, next) in other.rows.iter().enumerate() {
                if row[b / 64] >> (b % 64) & 1 == 1 {
                    add(&mut all, next);
                }
            }
            all
        };
        Self {
            rows: self.rows.iter().map(row).collect(),
        }
    }

    fn or(mut self, other: &Self) -> Self {
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            add(mine, theirs);
        }
        self
    }

    fn closure(mut self) -> Self {
        for b in 0..self.rows.len() {
            let next = self.rows[b];
            for row in &mut self.rows {
                if row[b / 64] >> (b % 64) & 1 == 1 {
                    add(row, &next);
                }
            }
        }
        self
    }
}

fn add(row: &mut [u64; WORDS], other: &[u64; WORDS]) {
    for (mine, theirs) in row.iter_mut().zip(other) {
        *mine |= theirs;
    }
}

/// Whether `psc` is acyclic.
///
/// # Panics
/// If the graph has more than 256 events.
pub(crate) fn is_consistent(graph: &Graph) -> bool {
    if graph.sc < 2 {
        return true;
    }
    let events: Vec<_> = graph.events().collect();
    let size = events.len();
    assert!(
        size <= 64 * WORDS,
        "a model with SeqCst has at most 256 events"
    );
    let number = |id: Id| {
        let before = graph.threads[..usize::from(id.thread)].iter().map(Vec::len);
        before.sum::<usize>() + usize::from(id.index)
    };
    let has_place = |a: usize| {
        let kind = events[a].kind;
        kind.is_read() || kind.is_write() || matches!(kind, Kind::CellRead | Kind::CellWrite)
    };
    let same =
        |a: usize, b: usize| has_place(a) && has_place(b) && events[a].place == events[b].place;
    let po = |a: usize, b: usize| a < b && events[a].id.thread == events[b].id.thread;
    let hb = Relation::of(size, |a, b| a != b && events[a].id.is_in(&events[b].hb));

    let mut positions = vec![usize::MAX; size];
    for (position, &(_, write)) in graph.writes.iter().enumerate() {
        positions[number(write)] = position;
    }
    let ordered = |a: usize, b: usize| {
        same(a, b) && positions[a] < positions[b] && positions[b] != usize::MAX
    };
    let source = |a: usize| events[a].source.map(number);
    let mo_fr = Relation::of(size, |a, b| match source(a) {
        Some(write) if events[a].kind.is_read() => a != b && ordered(write, b),
        _ => positions[a] != usize::MAX && ordered(a, b),
    });
    let rf = Relation::of(size, |a, b| source(b) == Some(a));

    let sc = |a: usize| events[a].is_sc();
    let fence = |a: usize| matches!(events[a].kind, Kind::Fence) && sc(a);
    let elsewhere = Relation::of(size, |a, b| po(a, b) && !same(a, b));
    let around = elsewhere.then(&hb).then(&elsewhere);
    let before = Relation::of(size, |a, b| po(a, b) || hb.has(a, b) && same(a, b))
        .or(&around)
        .or(&mo_fr);
    let start = Relation::of(size, |a, b| a == b && sc(a) || fence(a) && hb.has(a, b));
    let end = Relation::of(size, |a, b| a == b && sc(b) || fence(b) && hb.has(a, b));
    let base = start.then(&before).then(&end);
    let eco = mo_fr.or(&rf).closure();
    let between = hb.then(&eco).then(&hb).or(&hb);
    let fences = Relation::of(size, |a, b| fence(a) && fence(b) && between.has(a, b));
    let psc = base.or(&fences).closure();
    (0..size).all(|a| !psc.has(a, a))
}
