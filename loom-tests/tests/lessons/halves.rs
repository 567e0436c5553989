//! Lesson 5: what each half of each exchange is for, and the look that needs no exchange.

use std::sync::Arc;

use loom_tests::lab::{
    cell::UnsafeCell,
    name_thread,
    sync::atomic::{AtomicUsize, Ordering, fence},
    thread,
};

use crate::join::{fails, passes};

const PENDING: usize = 0;
const DONE: usize = 1;

struct Shared {
    word: AtomicUsize,
    result: UnsafeCell<u32>,
}

// SAFETY: the word says who may use the result. The model shows whether it does.
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}

fn check_a_look(look: fn(&AtomicUsize) -> bool) {
    name_thread("waiter");
    let shared = Arc::new(Shared {
        word: AtomicUsize::new(PENDING).named("word"),
        result: UnsafeCell::new(0).named("result"),
    });
    let completers = shared.clone();
    thread::spawn(move || {
        name_thread("completer");
        // SAFETY: the word does not say DONE yet.
        completers.result.with_mut(|place| unsafe { *place = 7 });
        completers.word.swap(DONE, Ordering::AcqRel);
    });
    if look(&shared.word) {
        // SAFETY: the word says DONE.
        assert_eq!(shared.result.with(|place| unsafe { *place }), 7);
    }
}

fn look_relaxed(word: &AtomicUsize) -> bool {
    word.load(Ordering::Relaxed) == DONE
}

#[test]
fn exercise_5_fails() {
    let failure = fails(|| check_a_look(look_relaxed));
    let missing = failure.missing();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].1, "acquire");
}

fn look(word: &AtomicUsize) -> bool {
    word.load(Ordering::Acquire) == DONE
}

fn look_and_fence(word: &AtomicUsize) -> bool {
    let done = word.load(Ordering::Relaxed) == DONE;
    if done {
        fence(Ordering::Acquire);
    }
    done
}

#[test]
fn exercise_5_solved() {
    passes(|| check_a_look(look));
    passes(|| check_a_look(look_and_fence));
}
