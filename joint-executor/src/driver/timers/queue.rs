//! [`Queue`]: deadlines in order, each with a value.
//!
//! A timer has a slot, which keeps its place, and an entry in a heap. A timer that is given up, as
//! most timeouts are, leaves its entry behind. That entry is *dead*: the place is free, or has
//! another turn. A dead entry is removed when it is the first, or together with all other dead ones
//! as soon as they are more than half of the heap. So giving a timer up costs little, whenever its
//! deadline is.
//!
//! | timer | slot | entry |
//! |---|---|---|
//! | armed | with a value | alive |
//! | fired | without a value | none |
//! | given up | free, or taken again with another turn | dead, until it is removed |
//!
//! Equal deadlines are ordered by their turn, a number that grows with each insertion. When the
//! numbers run out, the dead entries are removed and the others are numbered anew.

use alloc::{boxed::Box, vec::Vec};
use core::{mem, num::NonZeroU32};

use slab::Slab;

use super::{super::clock::NEVER, quickheap::Quickheap};
use crate::policy::MANY;

/// From the highest bits on: the deadline, the turn and the place. One number is compared faster
/// than three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new(deadline: u64, turn: NonZeroU32, place: u32) -> Self {
        let turn_and_place = u64::from(turn.get()) << 32 | u64::from(place);
        Self(u128::from(deadline) << 64 | u128::from(turn_and_place))
    }

    fn deadline(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn place(self) -> usize {
        self.0 as u32 as usize
    }

    /// Returns the timer's slot, or `None` if the entry is dead.
    fn slot<W>(self, slots: &Slab<Slot<W>>) -> Option<&Slot<W>> {
        let turn = (self.0 >> 32) as u32;
        let slot = slots.get(self.place());
        slot.filter(|slot| slot.turn.get() == turn)
    }

    fn is_alive<W>(self, slots: &Slab<Slot<W>>) -> bool {
        self.slot(slots).is_some()
    }
}

struct Slot<W> {
    value: Option<W>,
    turn: NonZeroU32,
}

pub(super) struct Queue<W> {
    slots: Slab<Slot<W>>,
    heap: Quickheap<Entry>,
    /// The number of dead entries in the heap.
    dead: usize,
    /// The turn of the next insertion.
    turn: NonZeroU32,
}

impl<W> Queue<W> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Slab::new(),
            heap: Quickheap::new(),
            dead: 0,
            turn: NonZeroU32::MIN,
        }
    }

    /// Returns the deadline of the first entry, or `NEVER`. No armed timer is earlier.
    pub(super) fn earliest(&self) -> u64 {
        self.heap.first().map_or(NEVER, Entry::deadline)
    }

    /// Removes the dead entries before the first that is alive. Until the next release,
    /// [`earliest`](Queue::earliest) is the deadline of an armed timer.
    pub(super) fn settle(&mut self) {
        while self.dead > 0 && !(self.heap.first()).is_some_and(|first| first.is_alive(&self.slots))
        {
            self.heap.pop();
            self.dead -= 1;
        }
    }

    pub(super) fn insert(&mut self, deadline: u64, value: W) -> u32 {
        let slot = self.slots.vacant_entry();
        let place = slot.key().try_into();
        let place = place.expect("at most 4 billion timers are armed on one worker");
        let (value, turn) = (Some(value), self.turn);
        slot.insert(Slot { value, turn });
        self.heap.push(Entry::new(deadline, turn, place));
        self.turn = match turn.checked_add(1) {
            Some(next) => next,
            None => self.begin_anew(),
        };
        place
    }

    /// Returns the value of a taken place, or `None` if it has fired.
    pub(super) fn armed(&mut self, place: u32) -> Option<&mut W> {
        self.slots[place as usize].value.as_mut()
    }

    /// Fires the first timer, if it is due.
    pub(super) fn pop(&mut self, now: u64) -> Option<W> {
        self.settle();
        if self.earliest() > now {
            return None;
        }
        let first = self.heap.pop()?;
        self.slots[first.place()].value.take()
    }

    /// Frees a taken place. Returns its value if it has not fired, and the queue's memory if that
    /// is large and nothing is armed any more. The caller drops both.
    pub(super) fn release(&mut self, place: u32) -> (Option<W>, Option<Box<Self>>) {
        let value = self.slots.remove(place as usize).value;
        self.dead += usize::from(value.is_some());
        if self.dead > self.heap.len() / 2 {
            self.bury();
        }
        let is_large = self.slots.is_empty() && self.slots.capacity() > MANY;
        let memory = is_large.then(|| Box::new(mem::replace(self, Self::new())));
        (value, memory)
    }

    #[cfg(feature = "dump")]
    pub(super) fn each(&self, mut f: impl FnMut(u64, &W)) {
        for entry in self.heap.iter() {
            let slot = entry.slot(&self.slots);
            if let Some(value) = slot.and_then(|slot| slot.value.as_ref()) {
                f(entry.deadline(), value);
            }
        }
    }

    pub(super) fn into_values(self) -> Vec<W> {
        let mut values = Vec::new();
        for (_, slot) in self.slots {
            values.extend(slot.value);
        }
        values
    }

    fn bury(&mut self) {
        self.heap.retain(|entry| entry.is_alive(&self.slots));
        self.dead = 0;
    }

    /// Gives the armed timers the first turns, in their order. Returns the next turn.
    #[cold]
    fn begin_anew(&mut self) -> NonZeroU32 {
        self.bury();
        let mut turn = NonZeroU32::MIN;
        let mut entries = mem::replace(&mut self.heap, Quickheap::new());
        while let Some(entry) = entries.pop() {
            let place = entry.place();
            self.heap
                .push(Entry::new(entry.deadline(), turn, place as u32));
            self.slots[place].turn = turn;
            turn = turn.saturating_add(1);
        }
        turn
    }
}

#[cfg(test)]
mod tests;
