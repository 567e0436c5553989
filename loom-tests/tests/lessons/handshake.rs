//! Lesson 10: each side writes one place and reads the other's.

use std::sync::Arc;

use loom_tests::lab::{
    name_thread,
    sync::atomic::{AtomicBool, Ordering, fence},
    thread,
};

use crate::join::{fails, passes};

struct Side {
    fence: Option<Ordering>,
}

impl Side {
    /// Writes its own place, then reads the other's.
    fn meet(&self, own: &AtomicBool, other: &AtomicBool) -> bool {
        own.store(true, Ordering::Release);
        if let Some(ordering) = self.fence {
            fence(ordering);
        }
        other.load(Ordering::Acquire)
    }
}

fn check(sleeper: Side, waker: Side) {
    name_thread("sleeper");
    let sleeping = Arc::new(AtomicBool::new(false).named("sleeping"));
    let work = Arc::new(AtomicBool::new(false).named("work"));
    let (seen, made) = (sleeping.clone(), work.clone());
    let waker = thread::spawn(move || {
        name_thread("waker");
        waker.meet(&made, &seen)
    });
    let found = sleeper.meet(&sleeping, &work);
    let woken = waker.join().unwrap();
    assert!(found || woken, "the sleeper sleeps, and there is work");
}

const BARE: Side = Side { fence: None };
const HALF: Side = Side {
    fence: Some(Ordering::AcqRel),
};
const FENCED: Side = Side {
    fence: Some(Ordering::SeqCst),
};

pub(crate) fn without_fences() {
    check(BARE, BARE);
}

#[test]
fn acquire_and_release_do_not_make_a_handshake() {
    let failure = fails(without_fences);
    let missing = failure.missing();
    assert!(missing.iter().all(|(_, what)| *what == "SeqCst fence"));
    assert_eq!(missing.len(), 2);
}

#[test]
fn exercise_10_fails() {
    for f in [|| check(FENCED, BARE), || check(BARE, FENCED)] {
        let failure = fails(f);
        assert_eq!(failure.missing().len(), 1);
    }
}

#[test]
fn a_weaker_fence_does_not_make_a_handshake() {
    fails(|| check(HALF, HALF));
}

#[test]
fn exercise_10_solved() {
    passes(|| check(FENCED, FENCED));
}
