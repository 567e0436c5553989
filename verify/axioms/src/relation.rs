//! Sets of edges between the events of one execution, and what the axioms do with them.

use core::fmt;

/// A set of edges between events: a row of bits for each event.
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct Relation {
    rows: Vec<u64>,
}

impl Relation {
    /// No edges, between `size` events: 64 at most.
    pub(crate) fn empty(size: usize) -> Self {
        Self {
            rows: vec![0; size],
        }
    }

    /// The edges from `a` to `b` that `holds` says there are.
    pub(crate) fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        let row = |a| {
            (0..size)
                .filter(|&b| holds(a, b))
                .fold(0, |row, b| row | 1 << b)
        };
        Self {
            rows: (0..size).map(row).collect(),
        }
    }

    /// An edge from each event to itself that `holds` says there is.
    pub(crate) fn identity(size: usize, holds: impl Fn(usize) -> bool) -> Self {
        Self::of(size, |a, b| a == b && holds(a))
    }

    pub(crate) fn insert(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    /// Whether there is an edge from `a` to `b`.
    ///
    /// # Panics
    /// If the execution has no event `a`.
    pub fn has(&self, a: usize, b: usize) -> bool {
        b < self.rows.len() && self.rows[a] >> b & 1 == 1
    }

    /// All edges, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let size = self.rows.len();
        (0..size).flat_map(move |a| {
            (0..size)
                .filter(move |&b| self.has(a, b))
                .map(move |b| (a, b))
        })
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|&row| row == 0)
    }

    /// Whether no path leads from an event back to itself.
    pub fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }

    /// The edges that no path of others implies, of a relation without cycles: what a drawing
    /// needs.
    #[must_use]
    pub fn reduced(&self) -> Self {
        let implied = self.closure().then(&self.closure());
        Self::of(self.rows.len(), |a, b| self.has(a, b) && !implied.has(a, b))
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..self.rows.len()).all(|a| !self.has(a, a))
    }

    /// The edges of any of `all`.
    pub(crate) fn union(all: &[&Self]) -> Self {
        let size = all
            .iter()
            .map(|one| one.rows.len())
            .max()
            .unwrap_or_default();
        let row = |a: usize| all.iter().fold(0, |row, one| row | one.rows[a]);
        Self {
            rows: (0..size).map(row).collect(),
        }
    }

    /// An edge of `self`, and from its end an edge of `next`.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let through = |row: u64| {
            let ends = (0..next.rows.len()).filter(|b| row >> b & 1 == 1);
            ends.fold(0, |reached, b| reached | next.rows[b])
        };
        Self {
            rows: self.rows.iter().map(|&row| through(row)).collect(),
        }
    }

    /// Paths of one edge or more.
    pub(crate) fn closure(&self) -> Self {
        let mut rows = self.rows.clone();
        for middle in 0..rows.len() {
            let onward = rows[middle];
            for row in &mut rows {
                if *row >> middle & 1 == 1 {
                    *row |= onward;
                }
            }
        }
        Self { rows }
    }

    /// The same edges, and one from each event to itself.
    pub(crate) fn or_same(&self) -> Self {
        let rows = self.rows.iter().enumerate().map(|(a, row)| row | 1 << a);
        Self {
            rows: rows.collect(),
        }
    }

    /// The edges that `keep` wants.
    pub(crate) fn filter(&self, keep: impl Fn(usize, usize) -> bool) -> Self {
        Self::of(self.rows.len(), |a, b| self.has(a, b) && keep(a, b))
    }
}

impl fmt::Debug for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.pairs()).finish()
    }
}
