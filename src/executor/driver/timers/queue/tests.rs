//! Compares queues with an ordered map that does the same.

use std::collections::BTreeMap;

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
    #[track_caller]
    fn assert_whole(&self) {
        let armed = self.slots.iter().filter(|slot| slot.value.is_some());
        let live = self.heap.iter().filter(|&&entry| !self.is_dead(entry));
        let mut places: Vec<_> = live.map(|entry| entry.place).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(armed.count(), places.len());
        for (index, entry) in self.heap.iter().enumerate() {
            assert!(index == 0 || self.heap[parent(index)].key() < entry.key());
        }
        let (mut free, mut next) = (0, self.free);
        while next != END {
            free += 1;
            next = self.slots[next as usize].link;
        }
        assert_eq!(free + self.taken, self.slots.len());
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
    fn pop(&mut self, now: u64) -> Option<u64> {
        let entry = self.armed.first_entry()?;
        let (deadline, number) = *entry.key();
        if deadline > now {
            return None;
        }
        self.fired.push(entry.remove());
        Some(number)
    }
}

fn step(random: &mut Random, deadlines: u64, queue: &mut Queue<u64>, reference: &mut Reference) {
    match random.below(8) {
        0..4 => {
            let deadline = random.below(deadlines);
            let place = queue.insert(deadline, reference.inserted);
            let key = (deadline, reference.inserted);
            assert_eq!(reference.armed.insert(key, place), None);
            reference.inserted += 1;
        }
        4 | 5 if !reference.armed.is_empty() => {
            let nth = usize::try_from(random.below(reference.armed.len() as u64)).unwrap();
            let (&key, &place) = reference.armed.iter().nth(nth).unwrap();
            reference.armed.remove(&key);
            assert_eq!(queue.armed(place), Some(&mut { key.1 }));
            assert_eq!(queue.release(place).0, Some(key.1));
        }
        6 => {
            let now = random.below(deadlines);
            assert_eq!(queue.pop(now), reference.pop(now));
        }
        _ => {
            if let Some(place) = reference.fired.pop() {
                assert_eq!(queue.armed(place), None);
                assert_eq!(queue.release(place).0, None);
            }
        }
    }
}

fn against_the_reference(seed: u64, deadlines: u64, mut queue: Queue<u64>) {
    let (mut random, mut reference) = (Random(seed), Reference::default());
    let steps = if cfg!(miri) { 200 } else { 4000 };
    for _ in 0..steps {
        step(&mut random, deadlines, &mut queue, &mut reference);
        let earliest = reference.armed.keys().next().map_or(NEVER, |key| key.0);
        assert!(queue.earliest() <= earliest);
        if random.below(4) == 0 {
            queue.settle();
            assert_eq!(queue.earliest(), earliest);
        }
        if random.below(16) == 0 {
            queue.assert_whole();
        }
    }
    while let Some(number) = queue.pop(NEVER) {
        assert_eq!(reference.pop(NEVER), Some(number));
    }
    assert!(reference.armed.is_empty());
    for place in reference.fired.drain(..) {
        assert_eq!(queue.release(place).0, None);
    }
    queue.assert_whole();
    assert_eq!(queue.taken, 0);
}

/// A few deadlines make ties, which fire in the order of insertion.
#[test]
fn random_operations_do_what_an_ordered_map_does() {
    for (seed, deadlines) in [(1, 1), (2, 4), (3, 64), (4, 10_000), (5, 1 << 30)] {
        against_the_reference(seed, deadlines, Queue::new());
    }
}

#[test]
fn turns_that_run_out_are_given_anew() {
    let seeds = if cfg!(miri) { 2 } else { 6 };
    for seed in 1..seeds {
        let (mut queue, mut reference) = (Queue::new(), Reference::default());
        // There is always one timer, so that the turns do not restart at the first by themselves.
        queue.insert(NEVER, 0);
        queue.turn = u32::MAX - 20;
        let mut random = Random(seed);
        for _ in 0..200 {
            step(&mut random, 3, &mut queue, &mut reference);
            queue.assert_whole();
        }
        assert!(queue.turn < 1000, "the turns have been renumbered");
    }
    let mut queue = Queue::new();
    queue.insert(7, 0);
    queue.turn = u32::MAX - 2;
    for number in 1..10 {
        queue.insert(7, number);
        queue.assert_whole();
    }
    assert!(queue.turn < 20, "the turns have been renumbered");
    for number in 0..10 {
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
    assert!(size_of::<usize>() != 8 || size_of::<Slot<Waker>>() == 24);
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
        let deadline = queue.earliest();
        let number = queue.pop(NEVER).unwrap();
        assert!(last <= (deadline, number));
        last = (deadline, number);
    }
    let mut given_back = false;
    for place in places {
        given_back = queue.release(place).1.is_some();
    }
    assert!(given_back, "the last release frees the memory");
    assert_eq!((queue.heap.capacity(), queue.slots.capacity()), (0, 0));
    queue.insert(1, 1);
    assert_eq!(queue.pop(1), Some(1));
}

#[test]
fn those_that_were_given_up_stay_few() {
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
        assert!(queue.heap.len() <= 1500, "{} for 1,000", queue.heap.len());
    }
    queue.assert_whole();
}

#[test]
fn an_empty_queue_keeps_a_little_room() {
    let mut queue = Queue::new();
    let places: Vec<_> = (0..KEPT as u64).map(|n| queue.insert(n, n)).collect();
    assert!(places.iter().all(|&place| queue.release(place).1.is_none()));
    let capacity = queue.slots.capacity();
    queue.insert(1, 1);
    assert_eq!(queue.slots.capacity(), capacity);
    assert!(capacity >= KEPT);
}
