//! [`Queue`]: deadlines in order, each with a value. Near ones are sorted, and far ones wait in
//! buckets, because most timers are timeouts that are given up before they come near.
//!
//! An entry is a deadline with the place of its timer in [`Slots`]. It is in one of three:
//!
//! | where | order | which entries |
//! |---|---|---|
//! | `heap` | by deadline, then by turn | the first [`FEW`], those that were late when they were inserted, and those of a small bucket that was opened |
//! | `run` | by turn | those of a large bucket that are due and have about the same deadline |
//! | [`Far`] | in buckets, by time | all others |
//!
//! Heap and run are near. When the first bucket may have something earlier than they have, and
//! that is due, the bucket is opened. A timer takes 16 bytes for its entry and, with a waker, 24
//! bytes in its slot.
//!
//! If a timer that is far is given up, its entry is removed at once. If it is near, its entry stays
//! behind. The entry is dead then, which means that its slot is not armed, or is armed in another
//! turn. For this reason no index into the heap has to be kept for a timer. Once a third of the
//! heap may be dead, all dead entries are removed from it (`bury`). Giving up a timer therefore
//! costs a look at three entries on average. Dead entries of the run are all due, and leave with
//! it.
//!
//! Equal deadlines are ordered by their turn, a number that grows with each insertion. It has 32
//! bits, which keeps an entry small. If the next turn would overflow, which happens once in 4
//! billion insertions, all entries are renumbered.

mod far;
mod slots;

use alloc::{boxed::Box, collections::BinaryHeap, vec::Vec};
use core::{
    cmp::{Ordering, Reverse},
    mem,
};

use self::{
    far::{Far, Stand},
    slots::{Home, Slots},
};
use super::super::clock::NEVER;

/// The index of no place. There are never this many places.
const END: u32 = u32::MAX;
/// The number of heap entries below which a new timer does not go into a bucket.
const FEW: usize = 64;
/// Due timers whose deadlines differ by fewer nanoseconds than this may fire in the order of
/// insertion, which is probably the order of their tasks in memory. In the exact order of their
/// deadlines, many tasks that fell asleep one after another would each be a miss of all caches. To
/// wake a thread takes longer than this difference.
pub(super) const TOGETHER: u64 = 1 << 12;
/// The capacity up to which an empty queue keeps its memory.
const KEPT: usize = 1024;

/// Compared by the deadline and then by the turn, as one number. The earliest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    deadline: u64,
    place: u32,
    turn: u32,
}

impl Entry {
    const fn key(self) -> u128 {
        ((self.deadline as u128) << 64) | ((self.turn as u128) << 32) | self.place as u128
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(super) struct Queue<W> {
    slots: Slots<W>,
    heap: BinaryHeap<Entry>,
    /// The due entries, in reverse order of insertion.
    run: Vec<Entry>,
    /// The earliest deadline that the run had.
    run_start: u64,
    far: Far,
    /// The turn of the next insertion.
    turn: u32,
    /// The number of entries that have died in the heap or in the run since the heap was last
    /// searched for dead ones.
    dead: usize,
}

/// Memory that the queue does not need. It holds no values.
pub(super) enum Spare<W> {
    Bucket { _entries: Vec<Entry> },
    All { _queue: Box<Queue<W>> },
}

impl<W> Queue<W> {
    pub(super) fn new() -> Self {
        Self {
            slots: Slots::new(),
            heap: BinaryHeap::new(),
            run: Vec::new(),
            run_start: 0,
            far: Far::new(),
            turn: 0,
            dead: 0,
        }
    }

    /// Returns the earliest deadline of the armed timers, or `NEVER`; or an earlier deadline, of a
    /// timer that has fired or was given up.
    pub(super) fn earliest(&self) -> u64 {
        self.nearest().min(self.far.earliest())
    }

    /// Returns the earliest deadline of the entries that are near, or an earlier one if there is a
    /// run; or `NEVER`.
    fn nearest(&self) -> u64 {
        let heap = self.heap.peek().map_or(NEVER, |entry| entry.deadline);
        match self.run.is_empty() {
            true => heap,
            false => heap.min(self.run_start),
        }
    }

    pub(super) fn insert(&mut self, deadline: u64, value: W) -> u32 {
        let turn = self.next_turn();
        let place = self.slots.take(value);
        let entry = Entry {
            deadline,
            turn,
            place,
        };
        if self.heap.len() >= FEW && self.far.takes(deadline) {
            self.put_far(entry);
        } else {
            self.put_near(entry);
        }
        place
    }

    fn put_far(&mut self, entry: Entry) {
        let stand = self.far.insert(entry);
        self.slots.set_home(entry, Home::Far(stand));
    }

    fn put_near(&mut self, entry: Entry) {
        self.heap.push(entry);
        self.slots.set_home(entry, Home::Near);
    }

    /// Removes dead entries from the top. Until another timer is given up,
    /// [`earliest`](Queue::earliest) is then the deadline of an armed timer, or one that has passed
    /// if a timer is due.
    pub(super) fn settle(&mut self, now: u64) {
        loop {
            while (self.heap.peek()).is_some_and(|&first| self.slots.is_dead(first)) {
                self.heap.pop();
            }
            while (self.run.last()).is_some_and(|&first| self.slots.is_dead(first)) {
                self.run.pop();
            }
            if self.far.knows_earliest() || self.nearest() <= self.far.earliest() {
                return;
            }
            self.approach(now);
        }
    }

    /// Returns the value of a taken place, or `None` if it has fired.
    pub(super) fn armed(&mut self, place: u32) -> Option<&mut W> {
        self.slots.armed(place)
    }

    /// Fires the first timer, if it is due.
    pub(super) fn pop(&mut self, now: u64) -> Option<W> {
        loop {
            let far = self.far.earliest();
            if far <= now && far <= self.nearest() && !self.far.is_empty() {
                self.approach(now);
                continue;
            }
            let first = self.pop_nearest(now)?;
            if let Some(value) = self.slots.fire(first) {
                return Some(value);
            }
        }
    }

    /// Removes the first entry that is near, if it is due.
    fn pop_nearest(&mut self, now: u64) -> Option<Entry> {
        let first = self.heap.peek();
        // Entries of the heap that are not earlier than the run were inserted after all of it.
        if !self.run.is_empty() && first.is_none_or(|first| first.deadline >= self.run_start) {
            return self.run.pop();
        }
        first.filter(|first| first.deadline <= now)?;
        self.heap.pop()
    }

    /// Opens the first bucket if its lowest deadline is known, and otherwise learns that.
    #[cold]
    fn approach(&mut self, now: u64) {
        let (is_known, is_crowded) = (self.far.knows_earliest(), self.far.is_crowded());
        let may_open = is_known || (is_crowded && self.far.has_begun(now));
        if !may_open {
            return self.thin_out();
        }
        let lowest = self.far.earliest();
        let mut entries = self.far.open(now);
        for entry in entries.drain(..) {
            if is_crowded && self.far.takes(entry.deadline) {
                self.put_far(entry);
            } else if is_crowded && is_known {
                self.run.push(entry);
                self.slots.set_home(entry, Home::Near);
            } else {
                self.put_near(entry);
            }
        }
        drop(self.far.keep(entries));
        if !self.run.is_empty() {
            self.run_start = lowest;
            self.join_run();
        }
    }

    fn thin_out(&mut self) {
        let Self {
            slots, heap, far, ..
        } = self;
        far.thin_out(|entry, home| {
            slots.set_home(entry, home);
            if home == Home::Near {
                heap.push(entry);
            }
        });
    }

    /// Completes a new run: with the entries of the heap that belong into it, and in order. None of
    /// the heap is earlier than the run, because the lowest deadline of the bucket was known.
    fn join_run(&mut self) {
        while (self.heap.peek()).is_some_and(|first| !self.far.takes(first.deadline)) {
            self.run.extend(self.heap.pop());
        }
        // Usually they are in order already, because a bucket is in the order of insertion as long
        // as nothing is removed from it.
        self.run.sort_unstable_by_key(|entry| Reverse(entry.turn));
    }

    /// Frees a taken place. Returns its value if it has not fired, and memory that is not needed.
    pub(super) fn release(&mut self, place: u32) -> (Option<W>, Option<Spare<W>>) {
        let (value, home) = self.slots.free(place);
        let mut spare = None;
        match home {
            Home::Far(stand) if value.is_some() => spare = self.leave(stand),
            Home::Near if value.is_some() && self.slots.taken() > 0 => self.bury(),
            _ => {}
        }
        if self.slots.taken() == 0 {
            self.heap.clear();
            self.run.clear();
            if self.slots.capacity() > KEPT {
                let _queue = Box::new(mem::replace(self, Self::new()));
                spare = Some(Spare::All { _queue });
            }
        }
        (value, spare)
    }

    /// Removes an entry that is far.
    fn leave(&mut self, stand: Stand) -> Option<Spare<W>> {
        let (moved, entries) = self.far.remove(stand);
        if let Some(moved) = moved {
            self.slots.set_home(moved, Home::Far(stand));
        }
        (entries.capacity() > 0).then(|| Spare::Bucket { _entries: entries })
    }

    /// Counts an entry that has died, and removes the dead ones once they may be many.
    fn bury(&mut self) {
        self.dead += 1;
        if self.dead > self.heap.len() / 3 {
            self.heap.retain(|&entry| !self.slots.is_dead(entry));
            self.dead = 0;
        }
    }

    /// Returns the values of all armed timers.
    pub(super) fn into_values(self) -> Vec<W> {
        self.slots.into_values()
    }

    fn next_turn(&mut self) -> u32 {
        if self.slots.taken() == 0 {
            self.turn = 0;
        } else if self.turn == u32::MAX {
            self.number_anew();
        }
        self.turn += 1;
        self.turn - 1
    }

    /// Renumbers all entries, without changing their order. Dead entries stay dead, because each
    /// gets a number of its own.
    #[cold]
    fn number_anew(&mut self) {
        let mut heap = mem::take(&mut self.heap).into_vec();
        let near = heap.iter_mut().chain(&mut self.run);
        let mut all: Vec<_> = near.chain(self.far.entries_mut()).collect();
        all.sort_unstable_by_key(|entry| entry.turn);
        self.turn = 0;
        for entry in all {
            self.slots.set_turn(entry, self.turn);
            self.turn += 1;
        }
        self.heap = heap.into();
    }
}

#[cfg(test)]
mod tests;
