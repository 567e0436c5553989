//! Compares queues with an ordered map that does the same.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// xorshift64*, which gives the same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % limit
    }
}

impl<W> Queue<W> {
    /// Checks that each armed timer has one entry, and that the others are dead, counted, and no
    /// more than the timers that are armed or fired.
    #[track_caller]
    fn assert_whole(&self) {
        let mut armed = BTreeSet::new();
        for entry in self.heap.iter() {
            if entry.is_alive(&self.slots) {
                assert!(self.slots[entry.place()].value.is_some());
                assert!(armed.insert(entry.place()), "two entries of one timer");
            }
        }
        let values = (self.slots.iter()).filter(|(_, slot)| slot.value.is_some());
        assert_eq!(values.count(), armed.len());
        assert_eq!(self.heap.len(), armed.len() + self.dead);
        assert!(self.dead <= self.slots.len());
    }
}

/// Does what the queue does, with a map from (deadline, number of the insertion).
#[derive(Default)]
struct Reference {
    armed: BTreeMap<(u64, u64), u32>,
    fired: Vec<u32>,
    inserted: u64,
}

impl Reference {
    /// Fires the first timer, or checks that none is due.
    fn pop(&mut self, now: u64, popped: Option<u64>) {
        let first = self.armed.first_key_value().map(|(&key, _)| key);
        let due = first.filter(|key| key.0 <= now);
        assert_eq!(popped, due.map(|key| key.1));
        self.fired
            .extend(due.and_then(|key| self.armed.remove(&key)));
    }
}

/// A queue, and a map that does the same.
struct Both {
    queue: Queue<u64>,
    reference: Reference,
    random: Random,
    now: u64,
}

impl Both {
    fn new(seed: u64) -> Self {
        Self {
            queue: Queue::new(),
            reference: Reference::default(),
            random: Random(seed),
            now: 0,
        }
    }

    fn insert(&mut self, deadline: u64) {
        let number = self.reference.inserted;
        let place = self.queue.insert(deadline, number);
        let before = self.reference.armed.insert((deadline, number), place);
        assert_eq!(before, None);
        self.reference.inserted += 1;
    }

    /// Gives up one that is armed: the earliest, or any.
    fn give_up(&mut self) {
        let armed = &mut self.reference.armed;
        let limit = [1, armed.len() as u64][self.random.below(2) as usize];
        let nth = self.random.below(limit) as usize;
        let (&key, &place) = armed.iter().nth(nth).expect("one is armed");
        armed.remove(&key);
        assert_eq!(self.queue.armed(place), Some(&mut { key.1 }));
        assert_eq!(self.queue.release(place).0, Some(key.1));
    }

    fn pop(&mut self) -> bool {
        let popped = self.queue.pop(self.now);
        self.reference.pop(self.now, popped);
        popped.is_some()
    }

    fn release_fired(&mut self) {
        if let Some(place) = self.reference.fired.pop() {
            assert_eq!(self.queue.armed(place), None);
            assert_eq!(self.queue.release(place).0, None);
        }
    }

    /// Deadlines below a limit, and a time that passes up to that limit.
    fn step_below(&mut self, limit: u64) {
        match self.random.below(8) {
            0..4 => {
                let deadline = self.random.below(limit);
                self.insert(deadline);
            }
            4 | 5 if !self.reference.armed.is_empty() => self.give_up(),
            6 => {
                self.now += self.random.below(limit - self.now) / 16;
                while self.pop() && self.random.below(4) > 0 {}
            }
            _ => self.release_fired(),
        }
    }

    fn check(&mut self) {
        let mut armed = self.reference.armed.keys();
        let earliest = armed.next().map_or(NEVER, |key| key.0);
        assert!(self.queue.earliest() <= earliest);
        if self.random.below(2) == 0 {
            self.queue.settle();
            assert_eq!(self.queue.earliest(), earliest);
        }
        if self.random.below(16) == 0 {
            self.queue.assert_whole();
        }
    }

    fn finish(mut self) {
        self.now = NEVER;
        while self.pop() {}
        assert!(self.reference.armed.is_empty());
        while !self.reference.fired.is_empty() {
            self.release_fired();
        }
        self.queue.assert_whole();
        assert!(self.queue.slots.is_empty() && self.queue.heap.len() == 0);
    }
}

/// A few deadlines make ties, which fire in the order of insertion. Many timers are given up, some
/// of them the earliest, and their places are taken again.
#[test]
fn random_operations_do_what_an_ordered_map_does() {
    for (seed, limit) in (1..).zip([1, 4, 64, 10_000, 1 << 30, 1 << 50, NEVER - 1]) {
        let mut both = Both::new(seed);
        for _ in 0..if cfg!(miri) { 200 } else { 4000 } {
            both.step_below(limit);
            both.check();
        }
        both.finish();
    }
}

/// Dead entries, of which some have the place of an armed timer, at all distances from the last
/// turn.
#[test]
fn turns_that_run_out_begin_anew() {
    const COUNT: u64 = 100;
    for left in 0..COUNT as u32 {
        let mut both = Both::new(u64::from(left) + 1);
        both.queue.turn = NonZeroU32::new(u32::MAX - left).unwrap();
        for number in 0..COUNT {
            both.insert(number % 3);
            if number % 3 == 1 {
                both.give_up();
                both.insert(1);
            }
            if number % 8 == 7 {
                both.pop();
            }
            both.queue.assert_whole();
        }
        assert!(both.queue.turn.get() < 2 * COUNT as u32);
        both.finish();
    }
}
