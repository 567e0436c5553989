//! What litmus programs do not have: locks, park, loops that wait, leaks and pointers.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use joint_check::{
    alloc::Track,
    cell::UnsafeCell,
    hint,
    model::{Builder, Count, last_count},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*},
    },
    thread,
};

fn count(f: impl Fn() + Send + Sync + 'static) -> Count {
    let mut builder = Builder::new();
    builder.finds_duplicates = true;
    builder.check(f);
    let count = last_count();
    assert_eq!(count.duplicates, 0);
    count
}

fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    let failed = catch_unwind(AssertUnwindSafe(|| count(f))).expect_err("the model fails");
    let text = failed.downcast_ref::<String>().cloned();
    text.or_else(|| failed.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .expect("a panic has a text")
}

#[test]
fn a_lock_is_taken_in_each_order() {
    for (threads, orders) in [(1, 1), (2, 2), (3, 6)] {
        let counted = count(move || {
            let total = Arc::new(Mutex::new(0));
            let add = |_| {
                let total = total.clone();
                thread::spawn(move || *total.lock().unwrap() += 1)
            };
            let all: Vec<_> = (0..threads).map(add).collect();
            all.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(*total.lock().unwrap(), threads);
        });
        assert_eq!(counted.complete, orders);
    }
}

#[test]
fn a_value_outside_the_lock_races() {
    struct Cell(UnsafeCell<u32>);
    // SAFETY: the checker looks for races.
    unsafe impl Sync for Cell {}
    // SAFETY: as above.
    unsafe impl Send for Cell {}

    let run = |is_locked: bool| {
        move || {
            let shared = Arc::new((Mutex::new(()), Cell(UnsafeCell::new(0))));
            let ours = shared.clone();
            let touch = move |shared: &(Mutex<()>, Cell)| {
                let _held = is_locked.then(|| shared.0.lock().unwrap());
                shared.1.0.with_mut(|_| ());
            };
            let other = thread::spawn(move || touch(&ours));
            touch(&shared);
            other.join().unwrap();
        }
    };
    assert_eq!(count(run(true)).complete, 2);
    assert!(failure(run(false)).contains("data race"));
}

#[test]
fn an_unpark_before_the_park_counts_and_none_is_a_deadlock() {
    let run = |unparks: bool| {
        move || {
            let main = thread::current();
            let other = thread::spawn(move || {
                if unparks {
                    main.unpark();
                }
            });
            thread::park();
            other.join().unwrap();
        }
    };
    assert_eq!(count(run(true)).complete, 1);
    assert!(failure(run(false)).contains("deadlock"));
}

#[test]
fn two_locks_taken_in_opposite_orders_are_a_deadlock() {
    let text = failure(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let theirs = locks.clone();
        let other = thread::spawn(move || {
            let _first = theirs.1.lock();
            let _second = theirs.0.lock();
        });
        let first = locks.0.lock();
        let second = locks.1.lock();
        drop((first, second));
        other.join().unwrap();
    });
    assert!(text.contains("deadlock"), "{text}");
}

#[test]
fn a_loop_that_waits_for_a_flag_ends() {
    let run = |is_raised: bool| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = flag.clone();
            let other = thread::spawn(move || theirs.store(is_raised, Release));
            while !flag.load(Acquire) {
                hint::spin_loop();
            }
            other.join().unwrap();
        }
    };
    // It finds the flag at its first look, or at its second.
    assert_eq!(count(run(true)).complete, 2);
    assert!(failure(run(false)).contains("deadlock"));
}

#[test]
fn a_value_that_is_never_dropped_is_a_leak() {
    let text = failure(|| std::mem::forget(Track::new(())));
    assert!(text.contains("leaked"), "{text}");
}

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

/// A third thread makes no other executions of what it has nothing to do with.
#[test]
fn a_thread_beside_multiplies_only_its_own_executions() {
    let counted = count(|| {
        let words: Arc<[AtomicUsize; 3]> = Arc::new([0; 3].map(AtomicUsize::new));
        let write = |number: usize| {
            let words = words.clone();
            thread::spawn(move || {
                for value in 1..20 {
                    words[number].store(value, Relaxed);
                }
            })
        };
        let all = [0, 1, 2].map(write);
        all.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(counted.complete, 1);
}
