//! [`Queue`]: deadlines in order, each with a value.
//!
//! A timer has a slot, which keeps its place, and an entry in a heap. Each knows where the other
//! is, so a timer that is given up, as most timeouts are, leaves nothing behind. The later a
//! deadline is, the less it costs to arm it and to give it up. The heap has four children for each
//! parent, which is half as deep as two.
//!
//! | slot | `value` | `at` |
//! |---|---|---|
//! | armed | present | the index of its entry in the heap |
//! | fired | none | nothing |
//! | free | none | the next free place, or `END` |
//!
//! Equal deadlines are ordered by their turn, a number that grows with each insertion and wraps
//! around. So those with one deadline fire in order unless two billion others are armed in between.

use alloc::{boxed::Box, vec::Vec};
use core::mem;

use super::super::clock::NEVER;

/// The index of no place. There are never this many places.
const END: u32 = u32::MAX;
/// The number of children of an entry in the heap.
const CHILDREN: usize = 4;
/// The capacity up to which an empty queue keeps its memory.
const KEPT: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    deadline: u64,
    turn: u32,
    place: u32,
}

impl Entry {
    fn is_before(&self, other: &Self) -> bool {
        let turn = || (self.turn.wrapping_sub(other.turn) as i32).cmp(&0);
        (self.deadline.cmp(&other.deadline)).then_with(turn).is_lt()
    }
}

struct Slot<W> {
    value: Option<W>,
    at: u32,
}

pub(super) struct Queue<W> {
    slots: Vec<Slot<W>>,
    /// The first free place, or `END`.
    free: u32,
    /// The number of places that are armed or fired.
    taken: usize,
    heap: Vec<Entry>,
    /// The turn of the next insertion.
    turn: u32,
}

impl<W> Queue<W> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: END,
            taken: 0,
            heap: Vec::new(),
            turn: 0,
        }
    }

    /// Returns the earliest deadline of the armed timers, or `NEVER`.
    pub(super) fn earliest(&self) -> u64 {
        self.heap.first().map_or(NEVER, |first| first.deadline)
    }

    pub(super) fn insert(&mut self, deadline: u64, value: W) -> u32 {
        let place = self.take_place(value);
        let turn = self.turn;
        self.turn = turn.wrapping_add(1);
        let entry = Entry {
            deadline,
            turn,
            place,
        };
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
        place
    }

    fn take_place(&mut self, value: W) -> u32 {
        self.taken += 1;
        let (place, value) = (self.free, Some(value));
        if let Some(slot) = self.slots.get_mut(place as usize) {
            self.free = slot.at;
            slot.value = value;
            return place;
        }
        let place = u32::try_from(self.slots.len()).unwrap_or(END);
        assert!(
            place < END,
            "more than 4 billion timers are armed on one worker"
        );
        self.slots.push(Slot { value, at: END });
        place
    }

    /// Returns the value of a taken place, or `None` if it has fired.
    pub(super) fn armed(&mut self, place: u32) -> Option<&mut W> {
        self.slots[place as usize].value.as_mut()
    }

    /// Fires the first timer, if it is due.
    pub(super) fn pop(&mut self, now: u64) -> Option<W> {
        let first = *self.heap.first().filter(|first| first.deadline <= now)?;
        self.remove(0);
        self.slots[first.place as usize].value.take()
    }

    /// Frees a taken place. Returns its value if it has not fired, and the queue's memory if that
    /// is large and nothing is armed any more. The caller drops both.
    pub(super) fn release(&mut self, place: u32) -> (Option<W>, Option<Box<Self>>) {
        let slot = &mut self.slots[place as usize];
        let (value, at) = (slot.value.take(), mem::replace(&mut slot.at, self.free));
        self.free = place;
        self.taken -= 1;
        if value.is_some() {
            self.remove(at as usize);
        }
        if self.taken > 0 {
            return (value, None);
        }
        let is_large = self.slots.capacity() > KEPT;
        (
            value,
            is_large.then(|| Box::new(mem::replace(self, Self::new()))),
        )
    }

    /// Returns the values of all armed timers.
    pub(super) fn into_values(self) -> Vec<W> {
        let values = self.slots.into_iter().filter_map(|slot| slot.value);
        values.collect()
    }

    /// Removes an entry from the heap.
    fn remove(&mut self, at: usize) {
        let removed = self.heap.swap_remove(at);
        if let Some(&moved) = self.heap.get(at) {
            match moved.is_before(&removed) {
                true => self.rise(at, moved),
                false => self.sink(at, moved),
            }
        }
    }

    /// Puts an entry at an index, or above it if it is before its parents.
    fn rise(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !entry.is_before(&self.heap[parent]) {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Puts an entry at an index, or below it if it is not before its children.
    fn sink(&mut self, mut at: usize, entry: Entry) {
        loop {
            let first = at * CHILDREN + 1;
            let children = first..self.heap.len().min(first + CHILDREN);
            let before = |a: usize, b: usize| match self.heap[b].is_before(&self.heap[a]) {
                true => b,
                false => a,
            };
            match children.reduce(before) {
                Some(child) if self.heap[child].is_before(&entry) => {
                    self.put(at, self.heap[child]);
                    at = child;
                }
                _ => break,
            }
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        // There are fewer entries than places.
        self.slots[entry.place as usize].at = at as u32;
    }
}

#[cfg(test)]
mod tests;
