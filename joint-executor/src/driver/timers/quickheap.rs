//! [`Quickheap`]: a priority queue that is sorted no further than it has to be.
//!
//! It sorts like quicksort, whose pivots it keeps, and only where the smallest values are (Navarro
//! and Paredes, "On Sorting, Heaps, and Minimum Spanning Trees", 2010). Most timers are given up
//! long before they are due, and are never sorted. If a million are due together, a binary heap
//! takes eight times as long for each, because its steps are far apart in memory.

use alloc::vec::Vec;

use crate::policy::TURN;
use joint_switch::random;

/// So many values are sorted one by one, and twice as many are kept so.
const SORTED: usize = TURN as usize / 2;

/// A push moves two values for each pivot at most. There are about as many pivots as the natural
/// logarithm of the number of values, but more if values have come that were smaller than most,
/// again and again.
const MOST_PIVOTS: usize = 32;

/// A set of different values, of which the smallest comes out first.
///
/// The sorted ones come last to first, so that the smallest is the last. Each of them is smaller
/// than the others, and there are none only if there are no others. A pivot is smaller than all
/// before it, and greater than all after it.
#[derive(Debug)]
pub(super) struct Quickheap<T> {
    sorted: Vec<T>,
    others: Vec<T>,
    /// The places of the pivots in `others`.
    pivots: Vec<usize>,
}

impl<T: Ord + Copy> Quickheap<T> {
    pub(super) const fn new() -> Self {
        Self {
            sorted: Vec::new(),
            others: Vec::new(),
            pivots: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.others.len()
    }

    /// In no particular order.
    #[cfg(any(feature = "dump", test))]
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.sorted.iter().chain(&self.others).copied()
    }

    #[inline]
    pub(super) fn first(&self) -> Option<T> {
        self.sorted.last().copied()
    }

    pub(super) fn push(&mut self, value: T) {
        match self.sorted.first() {
            Some(last) if value > *last => self.push_other(value),
            _ => insert(&mut self.sorted, value),
        }
        if self.sorted.len() > 2 * SORTED {
            // They are smaller than all others, so they lie behind the last pivot.
            self.others.extend(self.sorted.drain(..SORTED));
        }
    }

    /// Each pivot that is smaller moves up by one place, and so does the first value behind it, to
    /// the end of its part.
    fn push_other(&mut self, value: T) {
        let mut free = self.others.len();
        self.others.push(value);
        for pivot in self.pivots.iter_mut().rev() {
            if self.others[*pivot] > value {
                break;
            }
            self.others[free] = self.others[*pivot + 1];
            self.others[*pivot + 1] = self.others[*pivot];
            free = *pivot;
            *pivot += 1;
        }
        self.others[free] = value;
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let first = self.sorted.pop()?;
        if self.sorted.is_empty() && !self.others.is_empty() {
            self.sort_more();
        }
        Some(first)
    }

    /// Keeps the values for which `keeps` returns true.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        self.sorted.retain(&mut keeps);
        self.others.retain(&mut keeps);
        self.pivots.clear();
        if self.sorted.is_empty() {
            let places = 0..self.others.len();
            let first = places.min_by_key(|place| self.others[*place]);
            let first = first.map(|place| self.others.swap_remove(place));
            self.sorted.extend(first);
        }
    }

    /// Parts what lies behind the last pivot, until it is short enough to be sorted.
    #[cold]
    fn sort_more(&mut self) {
        loop {
            let start = self.pivots.last().map_or(0, |pivot| pivot + 1);
            let smallest = &mut self.others[start..];
            if smallest.len() <= SORTED {
                break;
            }
            let any = random() as usize % smallest.len();
            if self.pivots.len() == MOST_PIVOTS {
                self.pivots.remove(0);
            }
            self.pivots.push(start + part(smallest, any));
        }
        let start = self.pivots.pop().unwrap_or(0);
        for value in self.others.drain(start..) {
            insert(&mut self.sorted, value);
        }
    }
}

fn insert<T: Ord>(sorted: &mut Vec<T>, value: T) {
    let place = sorted.partition_point(|other| *other > value);
    sorted.insert(place, value);
}

/// Moves the values that are greater than the one at a place before it, and the others behind it.
/// Returns its new place.
fn part<T: Ord + Copy>(values: &mut [T], place: usize) -> usize {
    let last = values.len() - 1;
    values.swap(place, last);
    let pivot = values[last];
    let mut greater = 0;
    for at in 0..last {
        // Without a branch, which a processor would predict wrongly every other time, and without
        // a load of what has just been stored.
        let value = values[at];
        values.swap(at, greater);
        greater += usize::from(value > pivot);
    }
    values.swap(greater, last);
    greater
}

#[cfg(test)]
mod tests;
