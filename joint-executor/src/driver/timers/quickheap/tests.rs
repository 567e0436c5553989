//! Compares a heap with a set that does the same. The tests of `Queue` compare others.

use std::collections::BTreeSet;

use super::*;

/// A heap, and a set that does the same.
struct Both {
    heap: Quickheap<u64>,
    set: BTreeSet<u64>,
}

impl Both {
    fn new() -> Self {
        Self {
            heap: Quickheap::new(),
            set: BTreeSet::new(),
        }
    }

    fn push(&mut self, value: u64) {
        if self.set.insert(value) {
            self.heap.push(value);
        }
    }

    fn pop(&mut self, times: usize) {
        for _ in 0..times {
            assert_eq!(self.heap.first(), self.set.first().copied());
            assert_eq!(self.heap.pop(), self.set.pop_first());
        }
    }

    /// Checks what the type promises of its parts.
    #[track_caller]
    fn assert_whole(&self) {
        let Quickheap {
            sorted,
            others,
            pivots,
        } = &self.heap;
        assert!(sorted.is_sorted_by(|before, after| before > after));
        assert!(!sorted.is_empty() || others.is_empty());
        let last = sorted.first();
        assert!(others.iter().all(|other| Some(other) > last));
        for &pivot in pivots {
            let (before, after) = others.split_at(pivot);
            assert!(before.iter().all(|before| *before > after[0]));
            assert!(after[1..].iter().all(|behind| *behind < after[0]));
        }
        assert!(pivots.len() <= MOST_PIVOTS);
        assert_eq!(self.heap.len(), self.set.len());
        assert_eq!(self.heap.iter().collect::<BTreeSet<_>>(), self.set);
    }
}

/// Each time a pivot is left, because what was between it and the end has grown.
#[test]
fn values_that_are_smaller_each_time_leave_few_pivots() {
    let mut both = Both::new();
    for round in (0..4 * MOST_PIVOTS as u64).rev() {
        for value in 0..5 * SORTED as u64 {
            both.push(round * 1_000 + value);
        }
        both.pop(2 * SORTED + 1);
        both.push(u64::MAX - round);
        both.assert_whole();
    }
    both.pop(both.set.len());
}
