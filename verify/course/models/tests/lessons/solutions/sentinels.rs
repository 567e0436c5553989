//! The solution of exercise 3, and repairs that are wrong.

use lessons::thread;

use super::*;
use crate::exercise::refused;

fn compare_and_complete(word: &Word) -> Option<Box<Waker>> {
    let mut before = word.0.load(Ordering::Acquire);
    while let Err(newer) =
        (word.0).compare_exchange(before, DONE, Ordering::AcqRel, Ordering::Acquire)
    {
        before = newer;
    }
    take(before)
}

fn compare_and_register(word: &Word, waker: Box<Waker>) -> bool {
    let waker = Box::into_raw(waker);
    let result = (word.0).compare_exchange(PENDING, waker, Ordering::AcqRel, Ordering::Acquire);
    if result.is_err() {
        // It never got into the word.
        drop(take(waker));
    }
    result.is_err()
}

#[test]
fn exercise_3_is_solved() {
    judge(compare_and_complete, compare_and_register).unwrap();
}

fn register_and_forget(word: &Word, waker: Box<Waker>) -> bool {
    let waker = Box::into_raw(waker);
    let done = (word.0).compare_exchange(PENDING, waker, Ordering::AcqRel, Ordering::Acquire);
    done.is_err()
}

const WAIT: Register = |word, _waker| {
    while word.0.load(Ordering::Acquire) != DONE {
        thread::yield_now();
    }
    true
};

#[test]
fn wrong_repairs_of_exercise_3_are_refused() {
    refused(judge(complete, compare_and_register), "has overwritten");
    refused(judge(compare_and_complete, register_and_forget), "leaks");
    refused(judge(compare_and_complete, WAIT), "must not wait");
}
