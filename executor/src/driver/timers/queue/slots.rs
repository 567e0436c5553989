//! [`Slots`]: the value of each timer, at a place that does not change, and where its entry is.
//!
//! | slot | `value` | `home` | `link` |
//! |---|---|---|---|
//! | armed, near | present | `NEAR` | the turn of its entry |
//! | armed, far | present | the bucket | the index of its entry in the bucket |
//! | fired | none | nothing | nothing |
//! | free | none | nothing | the next free place, or `END` |

use alloc::vec::Vec;

use super::{END, Entry, far::Stand};

/// Not a bucket.
const NEAR: u32 = u32::MAX;

pub(super) struct Slot<W> {
    value: Option<W>,
    link: u32,
    home: u32,
}

impl<W> Slot<W> {
    fn home(&self) -> Home {
        match self.home {
            NEAR => Home::Near,
            bucket => Home::Far(Stand {
                bucket,
                index: self.link,
            }),
        }
    }
}

/// Where the entry of an armed timer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Near,
    Far(Stand),
}

pub(super) struct Slots<W> {
    slots: Vec<Slot<W>>,
    /// The first free place, or `END`.
    free: u32,
    /// The number of places that are armed or fired.
    taken: usize,
}

impl<W> Slots<W> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: END,
            taken: 0,
        }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Takes a place. The caller must say where its entry is.
    pub(super) fn take(&mut self, value: W) -> u32 {
        self.taken += 1;
        let place = self.free;
        if let Some(slot) = self.slots.get_mut(place as usize) {
            self.free = slot.link;
            slot.value = Some(value);
            return place;
        }
        let place = u32::try_from(self.slots.len()).unwrap_or(END);
        assert!(
            place != END,
            "more than 4 billion timers are armed on one worker"
        );
        self.slots.push(Slot {
            value: Some(value),
            link: 0,
            home: NEAR,
        });
        place
    }

    /// Frees a taken place. Returns its value, if it had not fired, and where its entry was then.
    pub(super) fn free(&mut self, place: u32) -> (Option<W>, Home) {
        let slot = &mut self.slots[place as usize];
        let home = slot.home();
        let value = slot.value.take();
        slot.link = self.free;
        self.free = place;
        self.taken -= 1;
        (value, home)
    }

    /// Returns the value of a taken place, or `None` if it has fired.
    pub(super) fn armed(&mut self, place: u32) -> Option<&mut W> {
        self.slots[place as usize].value.as_mut()
    }

    /// Fires the timer of an entry that is near, unless the entry is dead.
    pub(super) fn fire(&mut self, entry: Entry) -> Option<W> {
        match self.is_dead(entry) {
            true => None,
            false => self.slots[entry.place as usize].value.take(),
        }
    }

    /// Returns whether the timer of an entry that is near has been given up. An entry that is far
    /// counts as dead, although it never is.
    pub(super) fn is_dead(&self, entry: Entry) -> bool {
        let slot = &self.slots[entry.place as usize];
        slot.link != entry.turn || slot.home != NEAR || slot.value.is_none()
    }

    /// Writes down where the entry of an armed timer is now.
    pub(super) fn set_home(&mut self, entry: Entry, home: Home) {
        let slot = &mut self.slots[entry.place as usize];
        (slot.home, slot.link) = match home {
            Home::Near => (NEAR, entry.turn),
            Home::Far(stand) => (stand.bucket, stand.index),
        };
    }

    /// Gives an entry another turn, which is not greater than its own. Calls with different entries
    /// are in the order of their turns.
    pub(super) fn set_turn(&mut self, entry: &mut Entry, turn: u32) {
        if !self.is_dead(*entry) {
            self.slots[entry.place as usize].link = turn;
        }
        entry.turn = turn;
    }

    /// Returns the values of all armed timers.
    pub(super) fn into_values(self) -> Vec<W> {
        let values = self.slots.into_iter().filter_map(|slot| slot.value);
        values.collect()
    }
}

#[cfg(test)]
impl<W> Slots<W> {
    pub(super) fn home(&self, place: u32) -> Home {
        self.slots[place as usize].home()
    }

    /// The size of one slot, in bytes.
    pub(super) const EACH: usize = size_of::<Slot<W>>();

    /// Returns the number of armed timers.
    #[track_caller]
    pub(super) fn assert_whole(&self) -> usize {
        let (mut free, mut next) = (0, self.free);
        while next != END {
            free += 1;
            next = self.slots[next as usize].link;
        }
        assert_eq!(free + self.taken, self.slots.len());
        let armed = self.slots.iter().filter(|slot| slot.value.is_some());
        armed.count()
    }
}
