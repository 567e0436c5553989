//! Loops that wait for a while and then do something else.

use std::{sync::Arc, time::Duration};

use joint_check::{
    hint,
    model::last_count,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::*},
    },
    thread,
};

use crate::{assert_fails, beside, chance, ends};

/// Looks for the flag a few times.
fn is_raised(flag: &AtomicBool, looks: usize) -> bool {
    (0..looks).any(|_| {
        let is_raised = flag.load(Acquire);
        hint::spin_loop();
        is_raised
    })
}

#[test]
fn a_loop_gives_up_also_where_the_flag_is_raised_later() {
    for looks in 1..6 {
        let found = ends(move || {
            let waits = move |flag: &AtomicBool| is_raised(flag, looks);
            beside(AtomicBool::new(false), waits, |flag| {
                flag.store(true, Release)
            })
            .0
        });
        assert_eq!(found, [false, true], "{looks}");
        // The flag is raised before one of the looks, or after the last.
        assert_eq!(last_count().complete, looks as u64 + 1);
    }
}

/// A loop that waits is not the one that has given up before it, although it finds the same.
#[test]
fn a_thread_is_late_also_where_it_then_waits_for_the_flag() {
    let gives_up = |flag: &AtomicBool, looks| {
        let is_early = is_raised(flag, looks);
        while !flag.load(Acquire) {
            thread::yield_now();
        }
        is_early
    };
    let backs_off = |flag: &AtomicBool, hints| {
        let mut failed = 0;
        while !flag.load(Acquire) {
            failed += 1;
            match failed > hints {
                true => thread::yield_now(),
                false => hint::spin_loop(),
            }
        }
        failed <= hints
    };
    for waits in [gives_up, backs_off] {
        for looks in 1..5 {
            let found = ends(move || {
                let waits = move |flag: &AtomicBool| waits(flag, looks);
                beside(AtomicBool::new(false), waits, |flag| {
                    flag.store(true, Release)
                })
                .0
            });
            assert_eq!(found, [false, true], "{looks}");
        }
    }
}

#[test]
fn a_wake_up_that_is_lost_after_a_loop_that_gave_up_is_found() {
    let run = |unparks: bool| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = flag.clone();
            let waits = thread::spawn(move || {
                if !is_raised(&theirs, 3) {
                    thread::park();
                }
            });
            flag.store(true, Release);
            if unparks {
                waits.thread().unpark();
            }
            waits.join().unwrap();
        }
    };
    ends(run(true));
    assert_fails("nobody unparks it", run(false));
}

#[test]
fn a_loop_of_locks_or_of_waits_with_a_limit_gives_up() {
    let found = ends(|| {
        let waits = |(lock, changed): &(Mutex<bool>, Condvar)| {
            let mut is_set = lock.lock().unwrap();
            for _ in 0..3 {
                if *is_set {
                    return true;
                }
                is_set = changed.wait_timeout(is_set, Duration::ZERO).unwrap().0;
            }
            false
        };
        let sets = |(lock, changed): &(Mutex<bool>, Condvar)| {
            *lock.lock().unwrap() = true;
            changed.notify_one();
        };
        beside((Mutex::new(false), Condvar::new()), waits, sets).0
    });
    assert_eq!(found, [false, true]);
    let found = ends(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let tries = thread::spawn(move || {
            for _ in 0..3 {
                if let Ok(mut value) = theirs.try_lock() {
                    *value += 1;
                    return true;
                }
                hint::spin_loop();
            }
            *theirs.lock().unwrap() += 1;
            false
        });
        *lock.lock().unwrap() += 1;
        let has_locked = tries.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 2);
        has_locked
    });
    assert_eq!(found, [false, true]);
}

/// A round may have looks in its middle: the outer loop is endless, the inner one gives up.
#[test]
fn a_loop_in_a_loop_that_waits_ends() {
    let run = |raises: bool| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = AtomicUsize::new(0);
            let theirs = flag.clone();
            let raiser = thread::spawn(move || theirs.store(raises, Release));
            while !is_raised(&flag, 3) {
                assert_eq!(other.load(Relaxed), 0);
                thread::yield_now();
            }
            raiser.join().unwrap();
        }
    };
    ends(run(true));
    assert!(!last_count().is_cut);
    assert_fails("finds the same again and again", run(false));
}

/// A thread that has left its loop has no more patience for others.
#[test]
fn a_loop_without_a_hint_after_one_that_gave_up_is_named() {
    assert_fails("should call `spin_loop`", || {
        let flag = AtomicBool::new(false);
        is_raised(&flag, 3);
        while !flag.load(Relaxed) {}
    });
}

/// Some operations made by chance. Two kinds wait for a value, and give up after three looks.
fn by_chance(shared: &([AtomicUsize; 2], Mutex<usize>), seed: u64, hint: fn()) -> u64 {
    let mut below = chance(seed);
    let mut found = 0;
    for _ in 0..=below(3) {
        let word = &shared.0[below(2) as usize];
        let value = 1 + below(2) as usize;
        let wait = |look: &dyn Fn() -> usize| {
            let mut looks = 0..3;
            looks.any(|_| look() == value || (hint(), false).1)
        };
        let read = match below(5) {
            0 => {
                word.store(value, Relaxed);
                0
            }
            1 => word.swap(value, AcqRel),
            2 => word.load(Acquire),
            3 => wait(&|| word.load(Acquire)).into(),
            _ => {
                let has_found = wait(&|| *shared.1.lock().unwrap());
                *shared.1.lock().unwrap() = value;
                has_found.into()
            }
        };
        found = found * 3 + read as u64;
    }
    found
}

/// With the hint, a loop is blocked while it finds the same. Without it, each look is a step.
#[test]
fn programs_made_by_chance_end_with_the_hint_as_without_it() {
    for (threads, seeds) in [(2_u64, 60_u64), (3, 8)] {
        for seed in 0..seeds {
            let run = |hint: fn()| {
                ends(move || {
                    let shared = Arc::new(([0; 2].map(AtomicUsize::new), Mutex::new(0)));
                    let spawn = |n| {
                        let shared = shared.clone();
                        thread::spawn(move || by_chance(&shared, seed * 8 + n, hint))
                    };
                    let threads = Vec::from_iter((0..threads).map(spawn));
                    let ends = threads.into_iter().map(|thread| thread.join().unwrap());
                    ends.collect::<Vec<_>>()
                })
            };
            assert_eq!(run(hint::spin_loop), run(|| ()), "{seed} {threads}");
        }
    }
}
