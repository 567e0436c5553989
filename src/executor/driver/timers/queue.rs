//! [`Queue`]: deadlines in order, each with a value, in two arrays and nothing else.
//!
//! `heap` is a heap with four children to a node. The four lie side by side in 64 bytes. An entry
//! names its place in `slots`.
//!
//! | slot | `value` | `link` |
//! |---|---|---|
//! | armed | present | the turn of its entry |
//! | fired | none | nothing |
//! | free | none | the next free place, or `END` |
//!
//! A place is armed by `insert`, fired by `pop`, and free after `release`. A timer takes 16 bytes
//! in `heap` and, with a waker, 24 bytes in `slots`.
//!
//! If a timer is given up, its entry stays behind in the heap. The entry is dead, which means that
//! its slot is not armed, or is armed in another turn. For this reason no index into the heap has
//! to be kept for a timer. Giving up a timer costs a look at the next [`SWEPT`] entries in a round
//! through the heap (`sweep`). The dead entries among them are removed, so dead entries stay few.
//! Dead entries at the top are removed when a caller asks for the [earliest](Queue::settle).
//!
//! Equal deadlines are ordered by their turn, a number that grows with each insertion. It has 32
//! bits, which keeps an entry small. If the next turn would overflow, which happens once in 4
//! billion insertions, all entries are renumbered.

use alloc::vec::Vec;
use core::{mem, ops::Range};

use super::super::clock::NEVER;

const CHILDREN: usize = 4;
/// Not a place, because there are never so many places.
const END: u32 = u32::MAX;
/// The number of entries that are looked at for each entry that dies.
const SWEPT: usize = 4;
/// The capacity up to which an empty queue keeps its memory.
const KEPT: usize = 1024;

/// Compared by the deadline and then by the turn, as one number, without a branch.
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
    /// The number of places that are armed or fired.
    taken: usize,
    /// The turn of the next insertion.
    turn: u32,
    /// The entries from this index on have been looked at in this round.
    swept: usize,
}

/// Memory that an empty queue does not need. It holds no values.
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

    /// Returns the earliest deadline of the armed timers, or `NEVER`; or an earlier deadline, of a
    /// timer that was given up.
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

    /// Removes dead entries from the top. Until another timer is given up,
    /// [`earliest`](Queue::earliest) is then the deadline of an armed timer.
    pub(super) fn settle(&mut self) {
        while self.heap.first().is_some_and(|&first| self.is_dead(first)) {
            self.take_out(0);
        }
    }

    fn is_dead(&self, entry: Entry) -> bool {
        let slot = &self.slots[entry.place as usize];
        slot.link != entry.turn || slot.value.is_none()
    }

    /// Returns the value of a taken place, or `None` if it has fired.
    pub(super) fn armed(&mut self, place: u32) -> Option<&mut W> {
        self.slots[place as usize].value.as_mut()
    }

    /// Fires the first timer, if it is due.
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

    /// Frees a taken place. Returns its value if it has not fired, and memory if it was the last of
    /// many.
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
            // Other entries may have been removed meanwhile.
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

    /// Returns the values of all armed timers.
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
        assert!(
            place != END,
            "more than 4 billion timers are armed on one worker"
        );
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

    /// Renumbers all entries. A sorted array is a heap.
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

    /// Removes an entry from the heap, and fills the gap with the last entry.
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

    /// Puts an entry into the gap, or further up.
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

    /// Puts an entry into the gap, or further down.
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
