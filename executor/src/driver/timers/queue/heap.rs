//! [`Heap`]: entries in the order of their keys, in a heap with four children to a node.
//!
//! The four lie side by side in 64 bytes.

use alloc::vec::Vec;
use core::ops::Range;

use super::Entry;

const CHILDREN: usize = 4;

#[derive(Default)]
pub(super) struct Heap {
    entries: Vec<Entry>,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn first(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    /// Returns the entry at an index below [`len`](Heap::len).
    pub(super) fn at(&self, index: usize) -> Entry {
        self.entries[index]
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Returns all entries, whose order must stay as it is.
    pub(super) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
        self.rise(self.entries.len() - 1, entry);
    }

    /// Removes an entry, and fills the gap with the last entry.
    pub(super) fn take_out(&mut self, index: usize) {
        let Some(last) = self.entries.pop() else {
            return;
        };
        if index == self.entries.len() {
            return;
        }
        if index > 0 && last.key() < self.entries[parent(index)].key() {
            self.rise(index, last);
        } else {
            self.sink(index, last);
        }
    }

    /// Puts an entry into the gap, or further up.
    fn rise(&mut self, mut gap: usize, entry: Entry) {
        while gap > 0 {
            let above = self.entries[parent(gap)];
            if above.key() < entry.key() {
                break;
            }
            self.entries[gap] = above;
            gap = parent(gap);
        }
        self.entries[gap] = entry;
    }

    /// Puts an entry into the gap, or further down.
    fn sink(&mut self, mut gap: usize, entry: Entry) {
        while let Some(least) = self.least_child(gap) {
            let below = self.entries[least];
            if entry.key() < below.key() {
                break;
            }
            self.entries[gap] = below;
            gap = least;
        }
        self.entries[gap] = entry;
    }

    fn least_child(&self, index: usize) -> Option<usize> {
        let children = children(index);
        let end = children.end.min(self.entries.len());
        (children.start..end).min_by_key(|&child| self.entries[child].key())
    }
}

pub(super) const fn parent(index: usize) -> usize {
    (index - 1) / CHILDREN
}

const fn children(index: usize) -> Range<usize> {
    let first = CHILDREN * index + 1;
    first..first + CHILDREN
}
