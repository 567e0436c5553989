//! Compares queues with an ordered map that does the same.

use std::{collections::BTreeMap, iter};

use super::*;

/// xorshift64*, which gives the same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % limit
    }
}

impl<W> Queue<W> {
    /// Checks that each armed timer has one entry that lives, and that all is where it should be.
    #[track_caller]
    fn assert_whole(&self) {
        let live = |&&entry: &&Entry| !self.slots.is_dead(entry);
        let near = self.heap.iter().chain(&self.run).filter(live);
        let mut places: Vec<_> = near.map(|entry| entry.place).collect();
        self.far.assert_whole(|entry, stand| {
            assert_eq!(self.slots.home(entry.place), Home::Far(stand));
            places.push(entry.place);
        });
        places.sort_unstable();
        places.dedup();
        assert_eq!(self.slots.assert_whole(), places.len());
        assert!(self.run.is_sorted_by(|a, b| a.turn > b.turn));
        assert!(self.run.iter().all(|entry| !self.far.takes(entry.deadline)));
    }

    /// The number of entries that there is room for.
    fn capacity(&self) -> usize {
        self.heap.capacity() + self.run.capacity() + self.far.capacity()
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
    /// Fires a timer, or checks that none is due. It may be any of those that are due, if no other
    /// is much earlier, or has the same deadline and was inserted before.
    fn pop(&mut self, now: u64, popped: Option<u64>) {
        let Some((&(earliest, _), _)) = self.armed.first_key_value() else {
            return assert_eq!(popped, None);
        };
        assert_eq!(popped.is_some(), earliest <= now, "{earliest} at {now}");
        let Some(number) = popped else { return };
        let end = now.min(earliest.saturating_add(TOGETHER - 1));
        let mut due = self.armed.range(..=(end, u64::MAX));
        let (&key, _) = (due.find(|(key, _)| key.1 == number)).expect("one that is due");
        let mut same = self.armed.range((key.0, 0)..);
        assert_eq!(same.next().map(|(&first, _)| first), Some(key));
        self.fired.extend(self.armed.remove(&key));
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
                self.pop();
            }
            _ => self.release_fired(),
        }
    }

    /// Deadlines from the past to the end of time, and a time that passes: by nothing, by a little,
    /// to a deadline and a little on, or by years.
    fn step_in_time(&mut self) {
        match self.random.below(16) {
            0..7 => {
                let ahead = self.some_while();
                let deadline = self.now.saturating_add(ahead);
                self.insert(deadline.min(NEVER - 1));
            }
            7 => {
                let ago = self.some_while();
                self.insert(self.now.saturating_sub(ago));
            }
            8..12 if !self.reference.armed.is_empty() => self.give_up(),
            12 => {
                let ahead = self.some_while() >> self.random.below(40);
                self.now = self.now.saturating_add(ahead).min(NEVER - 1);
            }
            13 => {
                let next = self.reference.armed.keys().next().map_or(0, |key| key.0);
                self.now = self.now.max(next.saturating_add(self.random.below(3)));
                self.now = self.now.min(NEVER - 1);
            }
            14 => while self.pop() {},
            _ => self.release_fired(),
        }
    }

    /// A duration of any magnitude.
    fn some_while(&mut self) -> u64 {
        let bits = self.random.below(62);
        self.random.below(64) << bits >> 6
    }

    fn check(&mut self) {
        let earliest = self
            .reference
            .armed
            .keys()
            .next()
            .map_or(NEVER, |key| key.0);
        assert!(self.queue.earliest() <= earliest);
        if self.random.below(4) == 0 {
            self.queue.settle(self.now);
            let settled = self.queue.earliest();
            assert!(settled == earliest || settled.max(earliest) <= self.now);
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
        assert_eq!(self.queue.slots.taken(), 0);
    }
}

/// A few deadlines make ties, which fire in the order of insertion.
#[test]
fn random_operations_do_what_an_ordered_map_does() {
    for (seed, limit) in [(1, 1), (2, 4), (3, 64), (4, 10_000), (5, 1 << 30)] {
        let mut both = Both::new(seed);
        for _ in 0..if cfg!(miri) { 200 } else { 4000 } {
            both.step_below(limit);
            both.check();
        }
        both.finish();
    }
}

#[test]
fn while_time_passes_too() {
    for seed in 1..if cfg!(miri) { 2 } else { 40 } {
        let mut both = Both::new(seed);
        // So that others are far.
        for i in 0..seed * 10 {
            both.insert((NEVER - 1) >> (i % 50));
        }
        for _ in 0..if cfg!(miri) { 200 } else { 2000 } {
            both.step_in_time();
            both.check();
        }
        both.finish();
    }
}

/// Many that are close, of which the time has come for some.
#[test]
fn among_close_deadlines_only_the_due_ones_fire() {
    let (mut queue, start) = (Queue::new(), 5 * TOGETHER);
    for number in 0..4 * FEW as u64 {
        queue.insert(start + number, number);
    }
    for number in 0..4 * FEW as u64 {
        assert_eq!(queue.pop(start + number), Some(number));
        assert_eq!(queue.pop(start + number), None);
        queue.assert_whole();
    }
}

/// Those in the heap too. One that comes after the first have fired, and is earlier, is the next.
#[test]
fn due_timers_that_are_close_fire_in_the_order_of_insertion() {
    let mut queue = Queue::new();
    let (start, count) = (5 * TOGETHER, 2 * FEW as u64);
    queue.insert(start + 10 * TOGETHER, u64::MAX);
    for number in 0..FEW as u64 {
        queue.insert(start + 9 - number % 9, number);
    }
    for number in FEW as u64..count {
        queue.insert(start + 2 * FEW as u64 - number, number);
    }
    assert_eq!(queue.pop(start - 1), None);
    let first = iter::from_fn(|| queue.pop(start + TOGETHER)).take(FEW);
    assert!(first.eq(0..FEW as u64));
    queue.insert(start, count);
    queue.insert(start + 1, count + 1);
    let fire = iter::from_fn(|| queue.pop(start + TOGETHER));
    assert!(
        fire.eq(iter::once(count)
            .chain(FEW as u64..count)
            .chain([count + 1]))
    );
    assert_eq!(queue.earliest(), start + 10 * TOGETHER);
}

/// Many timers in one bucket, of which the earliest is given up each time.
#[test]
fn the_earliest_is_known_while_the_earliest_are_given_up() {
    const COUNT: u64 = if cfg!(miri) { 300 } else { 3_000 };
    for shift in [0, 1, 4, 10, 30] {
        for now in [0, 1 << 40, 1 << 41] {
            let mut both = Both::new(shift + 1);
            for i in 0..COUNT {
                let ahead = [i, COUNT - i, both.random.below(COUNT)][i as usize % 3];
                both.insert((1 << 41) + (ahead << shift));
            }
            while let Some(first) = both.reference.armed.first_entry() {
                let ((deadline, number), place) = first.remove_entry();
                both.queue.settle(now);
                assert_eq!(both.queue.earliest(), deadline);
                assert_eq!(both.queue.release(place).0, Some(number));
            }
            both.finish();
        }
    }
}

#[test]
fn turns_that_run_out_are_given_anew() {
    let seeds = if cfg!(miri) { 2 } else { 6 };
    for seed in 1..seeds {
        for limit in [3, 1 << 20] {
            let mut both = Both::new(seed);
            // Always so many timers that others are far, and the turns do not restart at the first
            // by themselves.
            for _ in 0..FEW {
                both.queue.insert(NEVER, 0);
            }
            both.queue.turn = u32::MAX - 200;
            for _ in 0..500 {
                both.step_below(limit);
                both.queue.assert_whole();
            }
            assert!(both.queue.turn < 1000, "the turns have been renumbered");
        }
    }
    let mut queue = Queue::new();
    queue.insert(7, 0);
    queue.turn = u32::MAX - 2;
    for number in 1..100 {
        queue.insert(7, number);
        queue.assert_whole();
    }
    assert!(queue.turn < 200, "the turns have been renumbered");
    for number in 0..100 {
        assert_eq!(queue.pop(7), Some(number));
    }
}

#[test]
fn nothing_is_fired_before_its_deadline() {
    let mut queue = Queue::new();
    queue.insert(10, 'b');
    queue.insert(9, 'a');
    assert_eq!(queue.pop(8), None);
    assert_eq!(queue.pop(9), Some('a'));
    assert_eq!(queue.pop(9), None);
    assert_eq!(queue.earliest(), 10);
    assert_eq!(queue.into_values(), ['b']);
}

#[test]
fn a_timer_takes_forty_bytes() {
    use core::task::Waker;
    assert_eq!(size_of::<Entry>(), 16);
    assert!(size_of::<usize>() != 8 || Slots::<Waker>::EACH == 24);
}

const MANY: u64 = if cfg!(miri) { 1100 } else { 1_000_000 };

#[test]
fn a_million_are_fired_in_order_and_their_memory_is_given_back() {
    let (mut queue, mut random) = (Queue::new(), Random(9));
    let places: Vec<_> = (0..MANY)
        .map(|number| queue.insert(random.below(MANY), number))
        .collect();
    queue.assert_whole();
    let mut last = (0, 0);
    for _ in 0..MANY / 2 {
        let now = queue.earliest();
        let number = queue.pop(now).unwrap();
        assert!(last <= (now, number));
        last = (now, number);
    }
    let mut given_back = false;
    for place in places {
        given_back = queue.release(place).1.is_some();
    }
    assert!(given_back, "the last release frees the memory");
    assert_eq!((queue.slots.capacity(), queue.capacity()), (0, 0));
    queue.insert(1, 1);
    assert_eq!(queue.pop(1), Some(1));
}

#[test]
fn cancelled_timers_do_not_pile_up_in_the_queue() {
    let (mut queue, mut random) = (Queue::new(), Random(3));
    let mut places: Vec<_> = (0..1000)
        .map(|n| queue.insert(random.below(1000), n))
        .collect();
    for n in 0..10_000 {
        let one = random.below(1000) as usize;
        let (value, _) = queue.release(places[one]);
        assert!(value.is_some());
        // An earlier deadline, a later one, or one in between.
        places[one] = queue.insert([0, random.below(1000), 1000 + n][n as usize % 3], n);
        let near = queue.heap.len() + queue.run.len();
        assert!(near + queue.far.len() <= 1500, "{near} near, of 1,000");
    }
    queue.assert_whole();
}

/// Bursts of timers, each at another time, of which one is left.
#[test]
fn the_room_of_those_that_were_given_up_is_given_back() {
    let (mut queue, burst) = (Queue::new(), if cfg!(miri) { 200 } else { 10_000 });
    let mut now = 0;
    for n in 0..100 {
        now += 1 << 30;
        let places: Vec<_> = (0..burst).map(|i| queue.insert(now + i, i)).collect();
        for place in &places[1..] {
            assert!(queue.release(*place).0.is_some());
        }
        let armed = n + 1;
        assert!(queue.capacity() <= armed * 4 * FEW + 8 * FEW);
        queue.settle(now);
        assert_eq!(queue.earliest(), 1 << 30);
    }
    queue.assert_whole();
}

#[test]
fn an_empty_queue_keeps_a_little_room() {
    let mut queue = Queue::new();
    let places: Vec<_> = (0..KEPT as u64).map(|n| queue.insert(n, n)).collect();
    for place in places {
        let (_, spare) = queue.release(place);
        assert!(!matches!(spare, Some(Spare::All { .. })));
    }
    let capacity = queue.slots.capacity();
    queue.insert(1, 1);
    assert_eq!(queue.slots.capacity(), capacity);
    assert!(capacity >= KEPT);
}
