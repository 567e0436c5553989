//! Lesson 4: each side exchanges once.

use std::{ptr, task::Waker};

use loom_tests::lab::{
    cell::UnsafeCell,
    sync::atomic::{AtomicPtr, Ordering},
};

use crate::join::{Join, check, fails, passes};

const PENDING: *mut Waker = ptr::null_mut();
const DONE: *mut Waker = ptr::without_provenance_mut(1);

struct Word(AtomicPtr<Waker>);

impl Word {
    /// The completer's exchange. The caller wakes the returned waker.
    fn complete(&self) -> Option<Box<Waker>> {
        take(self.0.swap(DONE, Ordering::AcqRel))
    }

    /// The waiter's exchange. Returns whether the word is completed.
    fn register(&self, waker: Box<Waker>) -> bool {
        let waker = Box::into_raw(waker);
        let before = self.0.swap(waker, Ordering::AcqRel);
        if before == DONE {
            // The completer has exited. The word is the waiter's alone, and must say `DONE` again.
            self.0.store(DONE, Ordering::Relaxed);
            drop(take(waker));
            return true;
        }
        drop(take(before));
        false
    }
}

fn take(word: *mut Waker) -> Option<Box<Waker>> {
    // SAFETY: a word that is not a sentinel came out of a box, and its taker owns it.
    (word != PENDING).then(|| unsafe { Box::from_raw(word) })
}

/// A result that the word guards.
struct Guarded {
    word: Word,
    result: UnsafeCell<u32>,
    register: fn(&Word, Box<Waker>) -> bool,
}

// SAFETY: the word says who may use the result. The model shows that it does.
unsafe impl Send for Guarded {}
// SAFETY: as for `Send`.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new(register: fn(&Word, Box<Waker>) -> bool) -> Self {
        Self {
            word: Word(AtomicPtr::new(PENDING).named("word")),
            result: UnsafeCell::new(0).named("result"),
            register,
        }
    }

    fn complete(&self, result: u32) {
        // SAFETY: the word does not say DONE yet.
        self.result.with_mut(|place| unsafe { *place = result });
        if let Some(waker) = self.word.complete() {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        let done = (self.register)(&self.word, Box::new(waker.clone()));
        // SAFETY: the word says DONE.
        done.then(|| self.result.with(|place| unsafe { *place }))
    }
}

struct ByExchange(Guarded);

impl Join for ByExchange {
    fn new() -> Self {
        Self(Guarded::new(Word::register))
    }

    fn complete(&self, result: u32) {
        self.0.complete(result);
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        self.0.poll(waker)
    }
}

#[test]
fn one_exchange_on_each_side_is_enough() {
    passes(check::<ByExchange>);
}

// The exercise.

fn register_and_forget(word: &Word, waker: Box<Waker>) -> bool {
    let waker = Box::into_raw(waker);
    let before = word.0.swap(waker, Ordering::AcqRel);
    if before != DONE {
        drop(take(before));
    }
    before == DONE
}

fn check_that_an_end_stays(register: fn(&Word, Box<Waker>) -> bool) {
    let join = Guarded::new(register);
    join.complete(7);
    assert_eq!(join.poll(Waker::noop()), Some(7));
    assert_eq!(join.poll(Waker::noop()), Some(7), "the end is forgotten");
}

#[test]
fn exercise_4_fails() {
    let failure = fails(|| check_that_an_end_stays(register_and_forget));
    assert!(failure.message().contains("the end is forgotten"));
}

#[test]
fn exercise_4_solved() {
    passes(|| check_that_an_end_stays(Word::register));
}
