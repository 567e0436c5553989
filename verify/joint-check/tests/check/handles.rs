//! The order in which handles are dropped is not explored, except which is the last.

use std::{
    cell::RefCell,
    sync::{Arc as StdArc, Mutex},
};

use joint_check::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::*},
        mpsc,
    },
    thread,
};

use crate::{Shared, chance, count, ends, ends_with, once};

#[test]
fn threads_with_handles_have_the_executions_of_borrowers() {
    for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
        let counted = count(move || {
            let word = Arc::new(AtomicUsize::new(0));
            let handles = Vec::from_iter((0..threads).map(|_| word.clone()));
            let add = |word: Arc<AtomicUsize>| thread::spawn(move || word.fetch_add(1, Relaxed));
            let all: Vec<_> = handles.into_iter().map(add).collect();
            all.into_iter().for_each(|one| _ = one.join());
        });
        assert_eq!(counted.complete, orders);
    }
}

#[test]
fn a_look_at_a_count_orders_its_changes() {
    let found = ends(|| {
        let first = Arc::new(());
        let handles = [first.clone(), first.clone()];
        _ = handles.map(|handle| thread::spawn(move || drop(handle)));
        Arc::strong_count(&first)
    });
    assert_eq!(found, [1, 2, 3]);
    let found = ends(|| {
        let first = Arc::new(());
        let second = first.clone();
        let other = thread::spawn(move || Arc::try_unwrap(second).is_ok());
        let mine = Arc::into_inner(first).is_some();
        (mine, other.join().unwrap())
    });
    // The first may still be there, and the second be dropped later.
    assert_eq!(found, [(false, false), (false, true), (true, false)]);
}

/// A receiver does not see whether a value was sent before it takes another one.
#[test]
fn a_receiver_takes_values_in_each_order_of_the_sends() {
    for (senders, orders) in [(1, 2), (2, 6), (3, 24)] {
        let counted = count(move || {
            let (sender, receiver) = mpsc::channel();
            for number in 0..senders {
                let sender = sender.clone();
                thread::spawn(move || sender.send(number).unwrap());
            }
            drop(sender);
            assert_eq!(std::iter::from_fn(|| receiver.recv().ok()).count(), senders);
        });
        // The orders of the sends, and which handle is the last.
        assert_eq!(counted.complete, orders);
    }
}

/// A queue behind a lock, which each receive changes.
#[derive(Clone, Default)]
struct Queue(
    StdArc<(
        joint_check::sync::Mutex<Vec<usize>>,
        joint_check::sync::Condvar,
    )>,
);

impl Queue {
    fn send(&self, value: usize) {
        self.0.0.lock().unwrap().push(value);
        self.0.1.notify_one();
    }

    fn receive(&self, waits: bool) -> Option<usize> {
        let mut values = self.0.0.lock().unwrap();
        while waits && values.is_empty() {
            values = self.0.1.wait(values).unwrap();
        }
        (!values.is_empty()).then(|| values.remove(0))
    }
}

#[test]
fn channels_by_chance_end_as_queues_behind_a_lock() {
    for seed in 0..30 {
        let run = |is_queue: bool| {
            ends_with(&once(), move || {
                let mut below = chance(seed + 5_000);
                let (sender, receiver) = mpsc::channel();
                let queue = Queue::default();
                let mut sent = 0;
                let senders = (0..1 + below(2)).map(|thread| {
                    let values: Vec<_> = (0..1 + below(2))
                        .map(|n| (10 * thread + n) as usize)
                        .collect();
                    sent += values.len();
                    let (sender, queue) = (sender.clone(), queue.clone());
                    thread::spawn(move || {
                        for value in values {
                            match is_queue {
                                true => queue.send(value),
                                false => sender.send(value).unwrap(),
                            }
                        }
                    })
                });
                let mut senders = Vec::from_iter(senders);
                let mut got = Vec::new();
                let mut taken = 0;
                for _ in 0..4 {
                    if below(4) == 0 && !senders.is_empty() {
                        senders.remove(0).join().unwrap();
                        continue;
                    }
                    let waits = below(3) > 0 && taken < sent;
                    let value = match is_queue {
                        true => queue.receive(waits),
                        false if waits => receiver.recv().ok(),
                        false => receiver.try_recv().ok(),
                    };
                    taken += usize::from(value.is_some());
                    got.push(value);
                }
                senders
                    .into_iter()
                    .for_each(|sender| sender.join().unwrap());
                got
            })
        };
        let (channel, queue) = (run(false), run(true));
        assert_eq!(channel.0, queue.0, "{seed}");
        assert!(channel.1.complete <= queue.1.complete, "{seed}");
    }
}

/// Who has dropped each value, and what the drop has read.
type Dropped = [Option<(thread::ThreadId, usize)>; 2];

/// A value whose drop reads and writes, and says who has dropped it.
struct Value {
    words: StdArc<[AtomicUsize; 2]>,
    written: Shared,
    number: usize,
    dropped: StdArc<Mutex<Dropped>>,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.written.write(1);
        let read = self.words[0].swap(9, AcqRel);
        let by = thread::current().id();
        self.dropped.lock().unwrap()[self.number] = Some((by, read));
    }
}

/// Some operations made by chance, with handles that are cloned, dropped and passed on.
fn by_chance(seed: u64, words: &[AtomicUsize; 2], mine: Vec<Arc<Value>>) -> Vec<usize> {
    let mut below = chance(seed);
    let mine = RefCell::new(mine);
    let mut seen = Vec::new();
    for _ in 0..2 + below(3) {
        let word = &words[below(2) as usize];
        match below(6) {
            0 => word.store(seed as usize % 5 + 1, Release),
            1 => seen.push(word.load(Acquire)),
            2 => seen.push(word.swap(7, Relaxed)),
            3 if !mine.borrow().is_empty() => {
                let clone = mine.borrow()[0].clone();
                mine.borrow_mut().push(clone);
            }
            _ => {
                let last = mine.borrow_mut().pop();
                drop(last);
            }
        }
    }
    // The others are dropped in one order or the other.
    let mut left = mine.into_inner();
    if below(2) == 0 {
        left.reverse();
    }
    drop(left);
    seen
}

/// With a look, each order of the changes of a count is explored.
#[test]
fn programs_made_by_chance_end_as_if_each_order_was_explored() {
    let mut fewer = 0;
    for seed in 0..40 {
        let run = |looks: bool| {
            ends_with(&once(), move || {
                let mut below = chance(seed + 1_000);
                let words = StdArc::new([0; 2].map(AtomicUsize::new));
                let dropped = StdArc::new(Mutex::new([None; 2]));
                let value = |number| {
                    Arc::new(Value {
                        words: words.clone(),
                        number,
                        written: Shared::new(),
                        dropped: dropped.clone(),
                    })
                };
                let values = [0, 1].map(value);
                if looks {
                    _ = values.each_ref().map(Arc::weak_count);
                }
                let threads = 2 + u64::from(below(4) == 0);
                let others = (0..threads).map(|n| {
                    let given = values.iter().filter(|_| below(3) > 0).cloned().collect();
                    let words = words.clone();
                    thread::spawn(move || by_chance(seed * 8 + n, &words, given))
                });
                let others = Vec::from_iter(others);
                if below(2) == 0 {
                    drop(values);
                }
                let seen = others.into_iter().map(|other| other.join().unwrap());
                let seen = Vec::from_iter(seen);
                let dropped = *dropped.lock().unwrap();
                (seen, dropped)
            })
        };
        let (reduced, all) = (run(false), run(true));
        assert_eq!(reduced.0, all.0, "{seed}");
        assert!(reduced.1.complete <= all.1.complete);
        fewer += usize::from(reduced.1.complete < all.1.complete);
    }
    assert!(fewer > 15, "{fewer}");
}
