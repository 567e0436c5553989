//! Loops that wait for a while and then do something else.

use std::sync::Arc;

use joint_check::{
    hint,
    model::last_count,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::*},
    },
    thread,
};

use crate::{assert_fails, ends};

/// Looks for the flag a few times.
fn is_raised(flag: &AtomicBool, looks: usize) -> bool {
    (0..looks).any(|_| {
        let is_raised = flag.load(Acquire);
        hint::spin_loop();
        is_raised
    })
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
fn a_loop_of_locks_gives_up() {
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
