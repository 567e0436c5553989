//! Compares heaps with a set that does the same.

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

    fn retain(&mut self, keeps: impl Fn(&u64) -> bool) {
        self.heap.retain(&keeps);
        self.set.retain(keeps);
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

#[test]
fn the_smallest_comes_first_however_the_values_came() {
    const VALUES: u64 = 20 * SORTED as u64;
    let orders: [fn(u64) -> u64; 4] = [
        |i| i,
        |i| VALUES - i,
        // A generator of all residues, whose successors are far apart.
        |i| i * 7_919 % 20_011,
        |i| i / 40 * 40 + (40 - i % 40),
    ];
    for first in orders {
        for second in orders {
            let mut both = Both::new();
            (0..VALUES).for_each(|i| both.push(2 * first(i)));
            both.assert_whole();
            both.pop(SORTED + 1);
            both.assert_whole();
            for i in 0..VALUES {
                both.push(2 * second(i) + 1);
                both.pop((i % 3 == 0).into());
                if i % 97 == 0 {
                    both.assert_whole();
                }
            }
            both.retain(|value| value % 5 != 0);
            both.assert_whole();
            both.retain(|value| *value > VALUES);
            both.assert_whole();
            both.pop(both.set.len());
            both.assert_whole();
        }
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
