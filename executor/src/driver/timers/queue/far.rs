//! [`Far`]: entries that are not near, in buckets that are not sorted.
//!
//! Every entry here is later than `base`. Its bucket is determined by the highest digit in which
//! its deadline differs from `base`, counted in digits of [`BITS`] bits: the position of that digit
//! is the *level*, and the deadline's digit there is the bucket on that level. So the buckets of a
//! level follow one another in time, and all of them are earlier than those of the next level. A
//! bucket on level 0 has one deadline.
//!
//! ```text
//! base     4 0 7
//! level 0       [409]             differs from the base in the last digit
//! level 1     [41_] [43_]         in the last but one
//! level 2  [5__] [9__]            in the first
//! ```
//!
//! The first bucket is opened when its time comes: the base moves into it, and its entries go to
//! lower levels. That is the radix heap of Ahuja, Mehlhorn, Orlin and Tarjan. An entry descends one
//! level at least each time, and most are removed before they ever do.
//!
//! Each bucket knows its lowest deadline, unless the entry that had it was removed. What is known
//! then is a lower bound.

use alloc::vec::Vec;
use core::mem;

use super::{END, Entry, FEW, TOGETHER, slots::Home};
use crate::driver::clock::NEVER;

const BITS: u32 = 6;
const DIGITS: usize = 1 << BITS;
const LEVELS: usize = u64::BITS.div_ceil(BITS) as usize;
/// The buckets below this one end within [`TOGETHER`] nanoseconds.
const SHORT: usize = DIGITS * (TOGETHER.ilog2() / BITS + 1) as usize;
/// The largest number of spare buffers.
const SPARES: usize = 8;

/// The place of an entry in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stand {
    pub(super) bucket: u32,
    pub(super) index: u32,
}

#[derive(Debug, Default)]
struct Bucket {
    entries: Vec<Entry>,
    /// A lower bound of the entries' deadlines.
    lowest: u64,
    /// The place of a timer with the lowest deadline, or `END` if that timer was removed.
    holder: u32,
}

pub(super) struct Far {
    base: u64,
    /// `lowest` of the first bucket, or `NEVER`.
    earliest: u64,
    /// The levels with entries, one bit each.
    levels: u32,
    /// The buckets with entries, one bit each.
    occupied: [u64; LEVELS],
    /// The buckets, as many as have been needed.
    buckets: Vec<Bucket>,
    /// Empty buffers of small capacity, for reuse.
    spares: Vec<Vec<Entry>>,
}

impl Far {
    pub(super) const fn new() -> Self {
        Self {
            base: 0,
            earliest: NEVER,
            levels: 0,
            occupied: [0; LEVELS],
            buckets: Vec::new(),
            spares: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.levels == 0
    }

    /// Returns the earliest deadline, or a lower bound of it; `NEVER` if this is empty.
    pub(super) fn earliest(&self) -> u64 {
        self.earliest
    }

    /// Returns whether [`earliest`](Far::earliest) is the deadline of an entry, or this is empty.
    pub(super) fn knows_earliest(&self) -> bool {
        self.is_empty() || self.buckets[self.first()].holder != END
    }

    /// Returns whether entries of this deadline belong here.
    pub(super) fn takes(&self, deadline: u64) -> bool {
        deadline > self.base
    }

    /// Adds an entry that belongs [here](Far::takes).
    pub(super) fn insert(&mut self, entry: Entry) -> Stand {
        let (level, digit) = self.bucket_of(entry.deadline);
        let at = level as usize * DIGITS + digit;
        if at >= self.buckets.len() {
            let levels = (level as usize + 1) * DIGITS;
            self.buckets.resize_with(levels, Bucket::default);
        }
        let bucket = &mut self.buckets[at];
        let index = bucket.entries.len();
        if index == 0 {
            bucket.lowest = NEVER;
            if bucket.entries.capacity() == 0 {
                bucket.entries = self.spares.pop().unwrap_or_default();
            }
            self.levels |= 1 << level;
            self.occupied[level as usize] |= 1 << digit;
        }
        if entry.deadline <= bucket.lowest {
            bucket.lowest = entry.deadline;
            bucket.holder = entry.place;
            self.earliest = self.earliest.min(entry.deadline);
        }
        bucket.entries.push(entry);
        Stand {
            bucket: at as u32,
            index: index as u32,
        }
    }

    /// Removes an entry. Returns the entry that has moved to where that one was, if there is one,
    /// and memory that is not needed.
    pub(super) fn remove(&mut self, stand: Stand) -> (Option<Entry>, Vec<Entry>) {
        let at = stand.bucket as usize;
        let bucket = &mut self.buckets[at];
        let removed = bucket.entries.swap_remove(stand.index as usize);
        if bucket.entries.is_empty() {
            let entries = mem::take(&mut bucket.entries);
            self.vacate(at);
            return (None, self.keep(entries));
        }
        if bucket.holder == removed.place {
            bucket.holder = END;
        }
        let len = bucket.entries.len();
        if len > FEW && bucket.entries.capacity() / 4 > len {
            bucket.entries.shrink_to(2 * len);
        }
        let moved = bucket.entries.get(stand.index as usize);
        (moved.copied(), Vec::new())
    }

    /// Takes the entries of the first bucket, which has begun at `now`, and moves the base into it:
    /// to its lowest deadline or to `now`, whichever is earlier; or to its highest deadline, if the
    /// bucket is short and all of it is due. Entries that still belong [here](Far::takes) are to be
    /// inserted again.
    pub(super) fn open(&mut self, now: u64) -> Vec<Entry> {
        let at = self.first();
        let entries = mem::take(&mut self.buckets[at].entries);
        let (mut lowest, mut highest) = (NEVER, 0);
        for entry in &entries {
            lowest = lowest.min(entry.deadline);
            highest = highest.max(entry.deadline);
        }
        self.base = match at < SHORT && highest <= now {
            true => highest,
            false => lowest.min(now),
        };
        self.vacate(at);
        entries
    }

    /// Returns whether the first bucket has more than a few entries.
    pub(super) fn is_crowded(&self) -> bool {
        self.buckets[self.first()].entries.len() > FEW
    }

    /// Returns whether the first bucket begins at or before `now`.
    pub(super) fn has_begun(&self, now: u64) -> bool {
        let level = self.levels.trailing_zeros();
        self.earliest >> (level * BITS) <= now >> (level * BITS)
    }

    /// Looks for the lowest deadline of the first bucket. If the bucket is large, also takes out
    /// about an eighth of its entries, the earliest ones, so that the next search is far off. Calls
    /// `moved` with each entry that is near from now on, or that is in another place.
    pub(super) fn thin_out(&mut self, mut moved: impl FnMut(Entry, Home)) {
        let at = self.first();
        let bucket = &mut self.buckets[at];
        let limit = bucket.an_eighth();
        let mut index = 0;
        bucket.lowest = NEVER;
        while let Some(&entry) = bucket.entries.get(index) {
            if limit.is_some_and(|limit| entry.deadline <= limit) {
                bucket.entries.swap_remove(index);
                if let Some(&next) = bucket.entries.get(index) {
                    let stand = Stand {
                        bucket: at as u32,
                        index: index as u32,
                    };
                    moved(next, Home::Far(stand));
                }
                moved(entry, Home::Near);
                continue;
            }
            if entry.deadline <= bucket.lowest {
                bucket.lowest = entry.deadline;
                bucket.holder = entry.place;
            }
            index += 1;
        }
        self.earliest = bucket.lowest;
        if bucket.entries.is_empty() {
            self.vacate(at);
        }
    }

    /// Keeps a buffer for the next bucket, or returns it.
    pub(super) fn keep(&mut self, mut entries: Vec<Entry>) -> Vec<Entry> {
        entries.clear();
        if self.spares.len() < SPARES && entries.capacity() <= FEW {
            self.spares.push(entries);
            return Vec::new();
        }
        entries
    }

    /// Returns all entries.
    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.buckets
            .iter_mut()
            .flat_map(|bucket| &mut bucket.entries)
    }

    /// Returns the level and the digit of the bucket for a deadline that belongs here.
    fn bucket_of(&self, deadline: u64) -> (u32, usize) {
        let level = (deadline ^ self.base).ilog2() / BITS;
        let digit = (deadline >> (level * BITS)) as usize % DIGITS;
        (level, digit)
    }

    /// Returns the index of the first bucket with entries. There is one.
    fn first(&self) -> usize {
        let level = self.levels.trailing_zeros() as usize;
        level * DIGITS + self.occupied[level].trailing_zeros() as usize
    }

    /// Marks a bucket as empty.
    fn vacate(&mut self, at: usize) {
        let level = at / DIGITS;
        self.occupied[level] &= !(1 << (at % DIGITS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
        self.earliest = match self.is_empty() {
            true => NEVER,
            false => self.buckets[self.first()].lowest,
        };
    }
}

impl Bucket {
    /// Returns the deadline at or before which about an eighth of the entries are, by a sample of
    /// them; or `None` if they are few.
    fn an_eighth(&self) -> Option<u64> {
        const SAMPLE: usize = 64;
        let step = self.entries.len() / SAMPLE;
        if step <= FEW / SAMPLE {
            return None;
        }
        let mut sample: [u64; SAMPLE] = core::array::from_fn(|i| self.entries[i * step].deadline);
        sample.sort_unstable();
        Some(sample[SAMPLE / 8])
    }
}

#[cfg(test)]
mod tests;
