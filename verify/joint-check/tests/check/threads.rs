//! What programs made by chance do not have: pointers, loops that count, updates, and threads that
//! others spawn.

use std::sync::Arc;

use joint_check::{
    hint,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*},
    thread,
};

use crate::{assert_fails, beside, chance, count, ends, ends_with, once};

#[test]
fn pointers_are_those_of_the_current_run() {
    let counted = count(|| {
        let list = Arc::new(AtomicPtr::new(std::ptr::null_mut::<usize>()));
        let push = |value: usize| {
            let list = list.clone();
            thread::spawn(move || {
                let new = Box::into_raw(Box::new(value));
                let mut head = list.load(Relaxed);
                while let Err(now) = list.compare_exchange(head, new, AcqRel, Acquire) {
                    head = now;
                }
                head
            })
        };
        let found = [1, 2].map(push).map(|thread| thread.join().unwrap());
        assert_eq!(found.iter().filter(|head| head.is_null()).count(), 1);
        let last = list.load(Relaxed);
        for pointer in found.into_iter().chain([last]) {
            if !pointer.is_null() {
                // SAFETY: each pointer was pushed once, and is found once.
                drop(unsafe { Box::from_raw(pointer) });
            }
        }
    });
    // The second reads the first's pointer at once, or fails before.
    assert_eq!(counted.complete, 4);
}

/// A loop that counts its rounds is endless as well, if it always reads the old value.
#[test]
fn a_loop_that_counts_its_rounds_waits_for_a_write() {
    let counted = count(|| {
        let sets = |flag: &AtomicBool| flag.store(true, Relaxed);
        beside(AtomicBool::new(false), sets, |flag| {
            let rounds = AtomicUsize::new(0);
            while !flag.load(Relaxed) {
                rounds.fetch_add(1, Relaxed);
                thread::yield_now();
            }
        });
    });
    // It finds the flag at one of its looks. More of them are left out.
    assert_eq!(counted.complete, 9);
    assert!(counted.is_cut);
}

/// Another thread may wait for the count, but not for more rounds than are explored.
#[test]
fn a_wait_for_a_loops_count_finds_its_first_values() {
    let counts_to = |least: usize| {
        move || {
            let waits = move |[rounds, stop]: &[AtomicUsize; 2]| {
                while rounds.load(Acquire) < least {
                    hint::spin_loop();
                }
                stop.store(1, Release);
            };
            beside([0; 2].map(AtomicUsize::new), waits, |[rounds, stop]| {
                while stop.load(Acquire) == 0 {
                    rounds.store(rounds.load(Relaxed) + 1, Release);
                    hint::spin_loop();
                }
            });
        }
    };
    assert!(count(counts_to(4)).is_cut);
    assert_fails("no execution ends", counts_to(14));
}

/// What a thread of the next test does.
fn updates_by_chance(seed: u64, words: &[AtomicUsize; 2]) -> Vec<usize> {
    let mut below = chance(seed);
    let mut seen = Vec::new();
    for _ in 0..2 + below(2) {
        let word = &words[below(2) as usize];
        let order = [(Relaxed, Relaxed), (Release, Acquire), (AcqRel, Relaxed)][below(3) as usize];
        let most = below(3) as usize;
        let more = |value: usize| (value <= most).then_some(value + 1);
        match below(5) {
            0 => word.store(below(3) as usize, Release),
            1 => seen.push(word.load(Acquire)),
            2 => seen.push(word.swap(2, AcqRel)),
            _ => seen.push(word.fetch_update(order.0, order.1, more).unwrap_or(9)),
        }
    }
    seen
}

/// The rounds in which the exchange of an update fails add no end.
#[test]
fn updates_end_as_if_each_failed_round_was_explored() {
    let mut fewer = 0;
    for seed in 0..120 {
        let threads = 2 + u64::from(seed % 4 == 0);
        let run = |merges: bool| {
            let mut builder = once();
            builder.merges = merges;
            let (found, count) = ends_with(&builder, move || {
                let words = Arc::new([0; 2].map(AtomicUsize::new));
                let start = |n| {
                    let words = words.clone();
                    thread::spawn(move || updates_by_chance(seed * 8 + n, &words))
                };
                let all = Vec::from_iter((0..threads).map(start));
                let seen = all.into_iter().map(|one| one.join().unwrap());
                let seen = Vec::from_iter(seen);
                (seen, words.each_ref().map(|word| word.load(Relaxed)))
            });
            (found, count.complete + count.blocked)
        };
        let (merged, all) = (run(true), run(false));
        assert_eq!(merged.0, all.0, "{seed}");
        fewer += usize::from(merged.1 < all.1);
    }
    assert!(fewer > 40, "{fewer}");
}

/// The same threads have the same names, whichever of their parents comes first.
#[test]
fn threads_that_several_threads_spawn_make_no_execution_twice() {
    let counted = count(|| {
        let word = Arc::new(AtomicUsize::new(0));
        let parent = |number: usize| {
            let word = word.clone();
            thread::spawn(move || {
                let child = |number: usize| {
                    let word = word.clone();
                    thread::spawn(move || word.fetch_add(number, Relaxed))
                };
                // Who reads the other's write spawns once more.
                if word.fetch_add(number, Relaxed) != 0 {
                    child(10 * number).join().unwrap();
                }
                child(100 * number).join().unwrap();
            })
        };
        let parents = [1, 2].map(parent);
        for parent in parents {
            parent.join().unwrap();
        }
        assert!(word.load(Relaxed) >= 303);
    });
    // The parent that comes first makes two exchanges, the second of which comes before, between or
    // after the three of the other parent.
    assert_eq!(counted.complete, 8);
}

/// A thread that has left its loop has no more patience for others.
#[test]
fn a_loop_without_a_hint_after_one_that_gave_up_is_named() {
    assert_fails("should call `spin_loop`", || {
        let flag = AtomicBool::new(false);
        for _ in 0..3 {
            assert!(!flag.load(Acquire));
            hint::spin_loop();
        }
        while !flag.load(Relaxed) {}
    });
}

/// A thread that has kept spinning may still read a write that it has passed over.
#[test]
fn a_loop_that_gives_up_may_find_the_write_in_each_round() {
    let (ends, _) = ends_with(&once(), || {
        let stores = |[value, flag]: &[AtomicUsize; 2]| {
            value.store(1, Relaxed);
            flag.store(1, Relaxed);
        };
        let looks = |[value, flag]: &[AtomicUsize; 2]| {
            let mut round = 0;
            while flag.load(Relaxed) == 1 && value.load(Relaxed) == 0 && round < 5 {
                hint::spin_loop();
                round += 1;
            }
            round
        };
        beside([(); 2].map(|()| AtomicUsize::new(0)), stores, looks).1
    });
    assert_eq!(ends, [0, 1, 2, 3, 4, 5]);
}

/// The other thread has done a step since `main` began to wait, so that no run goes on with the
/// unpark: what comes before the wait is explored in a graph without it.
#[test]
fn a_thread_reads_a_later_store_before_it_unparks() {
    let results = ends(|| {
        let (main, flag) = (thread::current(), Arc::new(AtomicUsize::new(0)));
        let seen = flag.clone();
        let other = thread::spawn(|| AtomicUsize::new(0).store(1, Relaxed));
        let unparks = thread::spawn(move || {
            let seen = seen.load(Relaxed);
            main.unpark();
            seen
        });
        let stores = thread::spawn(move || flag.store(1, Relaxed));
        thread::park();
        other.join().unwrap();
        stores.join().unwrap();
        unparks.join().unwrap()
    });
    assert_eq!(results, [0, 1]);
}
