//! [`Queue`]: deadlines in order, each with a value, in two arrays and nothing else.
//!
//! `heap` is a heap with four children to a node, which lie in 64 bytes beside one another. An
//! entry names its place in `slots`.
//!
//! | slot | `value` | `link` |
//! |---|---|---|
//! | armed | there | the turn of its entry |
//! | fired | gone | nothing |
//! | free | gone | the next free place, or `END` |
//!
//! A place is armed by `insert`, fired by `pop`, and free after `release`. A timer takes 16 bytes
//! here and, with a waker, 24 there.
//!
//! The entry of a timer that is given up stays behind, dead: its slot is not armed, or is so in
//! another turn. So nothing has to know where in the heap an entry is, and giving up costs a few
//! looks, at the entries that come next in a round through the heap (`sweep`), of which the dead
//! are taken out. So they stay few: for each that dies, [`SWEPT`] are looked at. Those at the top
//! are taken out when somebody wants to know what is [earliest](Queue::settle).
//!
//! Equal deadlines go by their turn, a number that grows with each insertion. It has 32 bits, so
//! that an entry is no larger; where it would not grow any more, those that are there are numbered
//! anew, once in 4 billion insertions.

use alloc::vec::Vec;
use core::{mem, ops::Range};

use super::super::clock::NEVER;

const CHILDREN: usize = 4;
/// No place: there are never so many.
const END: u32 = u32::MAX;
/// How many entries are looked at for each that dies.
const SWEPT: usize = 4;
/// An empty queue keeps room for so many.
const KEPT: usize = 1024;

/// Compared by the deadline, and then by the turn: as one number, without a branch.
#[derive(Clone, Copy, Debug)]
struct Entry {
    deadline: u64,
    place: u32,
    turn: u32,
}

impl Entry {
    const fn key(self) -> u128 {
        ((self.deadline as u128) << 64) | ((self.turn as u128) << 32) | self.place as u128
    }
}

struct Slot<W> {
    value: Option<W>,
    link: u32,
}

pub(super) struct Queue<W> {
    heap: Vec<Entry>,
    slots: Vec<Slot<W>>,
    /// The first free place, or `END`.
    free: u32,
    /// How many places are armed or fired.
    taken: usize,
    /// The next insertion's.
    turn: u32,
    /// The entries from here on have been looked at in this round.
    swept: usize,
}

/// Memory that an empty queue has no use for. It holds no values.
pub(super) struct Spare<W> {
    _heap: Vec<Entry>,
    _slots: Vec<Slot<W>>,
}

impl<W> Queue<W> {
    pub(super) const fn new() -> Self {
        Self {
            heap: Vec::new(),
            slots: Vec::new(),
            free: END,
            taken: 0,
            turn: 0,
            swept: 0,
        }
    }

    /// The earliest deadline of those that are armed, or `NEVER`; or one before it, of one that was
    /// given up.
    pub(super) fn earliest(&self) -> u64 {
        self.heap.first().map_or(NEVER, |entry| entry.deadline)
    }

    pub(super) fn insert(&mut self, deadline: u64, value: W) -> u32 {
        let turn = self.next_turn();
        let place = self.take_place(value, turn);
        let entry = Entry {
            deadline,
            turn,
            place,
        };
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
        place
    }

    /// From here until one more is given up, what is [`earliest`](Queue::earliest) is armed.
    pub(super) fn settle(&mut self) {
        while self.heap.first().is_some_and(|&first| self.is_dead(first)) {
            self.take_out(0);
        }
    }

    fn is_dead(&self, entry: Entry) -> bool {
        let slot = &self.slots[entry.place as usize];
        slot.link != entry.turn || slot.value.is_none()
    }

    /// The value of a place that is taken, unless it has fired.
    pub(super) fn armed(&mut self, place: u32) -> Option<&mut W> {
        self.slots[place as usize].value.as_mut()
    }

    /// Fires the first, if it is due.
    pub(super) fn pop(&mut self, now: u64) -> Option<W> {
        loop {
            let first = *self.heap.first()?;
            if first.deadline > now {
                return None;
            }
            let is_dead = self.is_dead(first);
            self.take_out(0);
            if !is_dead {
                return self.slots[first.place as usize].value.take();
            }
        }
    }

    /// Frees a place that is taken. Gives its value back, if it has not fired, and memory, if it
    /// was the last of many.
    pub(super) fn release(&mut self, place: u32) -> (Option<W>, Option<Spare<W>>) {
        let slot = &mut self.slots[place as usize];
        let value = slot.value.take();
        slot.link = self.free;
        self.free = place;
        self.taken -= 1;
        if self.taken == 0 {
            self.heap.clear();
        } else if value.is_some() {
            self.sweep();
        }
        (value, self.spare())
    }

    fn sweep(&mut self) {
        for _ in 0..SWEPT {
            if self.swept == 0 {
                self.swept = self.heap.len();
            }
            // Others may have been taken out meanwhile.
            let Some(next) = self.swept.min(self.heap.len()).checked_sub(1) else {
                return;
            };
            self.swept = next;
            if self.is_dead(self.heap[next]) {
                self.take_out(next);
            }
        }
    }

    fn spare(&mut self) -> Option<Spare<W>> {
        if self.taken > 0 || self.slots.capacity() <= KEPT {
            return None;
        }
        let empty = mem::replace(self, Self::new());
        Some(Spare {
            _heap: empty.heap,
            _slots: empty.slots,
        })
    }

    /// The values of all that are armed.
    pub(super) fn into_values(self) -> Vec<W> {
        let values = self.slots.into_iter().filter_map(|slot| slot.value);
        values.collect()
    }

    fn take_place(&mut self, value: W, turn: u32) -> u32 {
        let place = self.free;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            self.free = mem::replace(&mut slot.link, turn);
            slot.value = Some(value);
            self.taken += 1;
            return place;
        }
        let place = u32::try_from(self.slots.len()).unwrap_or(END);
        assert!(place != END, "4 billion timers are armed on one worker");
        self.slots.push(Slot {
            value: Some(value),
            link: turn,
        });
        self.taken += 1;
        place
    }

    fn next_turn(&mut self) -> u32 {
        if self.heap.is_empty() {
            self.turn = 0;
        } else if self.turn == u32::MAX {
            self.number_anew();
        }
        self.turn += 1;
        self.turn - 1
    }

    /// An array in order is a heap.
    #[cold]
    fn number_anew(&mut self) {
        let mut heap = mem::take(&mut self.heap);
        heap.retain(|&entry| !self.is_dead(entry));
        heap.sort_unstable_by_key(|entry| entry.key());
        self.turn = 0;
        for entry in &mut heap {
            entry.turn = self.turn;
            self.slots[entry.place as usize].link = self.turn;
            self.turn += 1;
        }
        self.heap = heap;
    }

    /// Takes an entry out of the heap, and fills the gap with the last one.
    fn take_out(&mut self, index: usize) {
        let Some(last) = self.heap.pop() else { return };
        if index == self.heap.len() {
            return;
        }
        if index > 0 && last.key() < self.heap[parent(index)].key() {
            self.rise(index, last);
        } else {
            self.sink(index, last);
        }
    }

    /// Puts an entry where there is a gap, or else above.
    fn rise(&mut self, mut gap: usize, entry: Entry) {
        while gap > 0 {
            let above = self.heap[parent(gap)];
            if above.key() < entry.key() {
                break;
            }
            self.heap[gap] = above;
            gap = parent(gap);
        }
        self.heap[gap] = entry;
    }

    /// Puts an entry where there is a gap, or else below.
    fn sink(&mut self, mut gap: usize, entry: Entry) {
        while let Some(least) = self.least_child(gap) {
            let below = self.heap[least];
            if entry.key() < below.key() {
                break;
            }
            self.heap[gap] = below;
            gap = least;
        }
        self.heap[gap] = entry;
    }

    fn least_child(&self, index: usize) -> Option<usize> {
        let children = children(index);
        let end = children.end.min(self.heap.len());
        (children.start..end).min_by_key(|&child| self.heap[child].key())
    }
}

const fn parent(index: usize) -> usize {
    (index - 1) / CHILDREN
}

const fn children(index: usize) -> Range<usize> {
    let first = CHILDREN * index + 1;
    first..first + CHILDREN
}

#[cfg(test)]
mod tests;
