//! Lesson 4: each side exchanges once.

use std::{ptr, sync::Arc, task::Waker};

use lessons::{
    Wakes,
    cell::UnsafeCell,
    name_thread, name_value,
    sync::atomic::{AtomicPtr, Ordering},
    thread,
};

use crate::{
    exercise::{Verdict, demand, exercise, the_model},
    join::{Join, check, passes},
};

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
    register: Register,
}

// SAFETY: the word says who may use the result. The model shows that it does.
unsafe impl Send for Guarded {}
// SAFETY: as for `Send`.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new(register: Register) -> Self {
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
        let waker = Box::new(waker.clone());
        // An address may be used again, so that pictures would differ.
        name_value(ptr::from_ref(&*waker).addr(), "the waker");
        let done = (self.register)(&self.word, waker);
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

type Register = fn(&Word, Box<Waker>) -> bool;

fn check_that_an_end_stays(register: Register) {
    let join = Guarded::new(register);
    join.complete(7);
    assert_eq!(join.poll(Waker::noop()), Some(7));
    assert_eq!(join.poll(Waker::noop()), Some(7), "the end is forgotten");
}

/// The same, beside a completer, and with a waker that is counted.
fn check_beside_a_completer(register: Register) {
    let join = Arc::new(Guarded::new(register));
    let completers = join.clone();
    name_thread("waiter");
    let completer = thread::spawn(move || {
        name_thread("completer");
        completers.complete(7);
    });
    let wakes = Wakes::new();
    let first = join.poll(&wakes.waker());
    let second = join.poll(&wakes.waker());
    assert!(first.is_none() || second.is_some(), "the end is forgotten");
    completer.join().unwrap();
    assert!(second.is_some() || wakes.count() > 0, "nobody wakes");
    assert_eq!(join.poll(&wakes.waker()), Some(7));
    assert_eq!(join.poll(&wakes.waker()), Some(7), "the end is forgotten");
    assert_eq!(wakes.wakers(), 0, "a waker leaks");
}

pub(crate) fn forgets() {
    check_beside_a_completer(register_and_forget);
}

fn judge(register: Register) -> Verdict {
    demand(
        "register must return false while nobody has completed",
        move || assert_eq!(Guarded::new(register).poll(Waker::noop()), None),
    )?;
    the_model(
        "the end is forgotten: the word contains the waker, and the next poll waits forever",
        |failure| failure.message().contains("the end is forgotten"),
        move || check_that_an_end_stays(register),
    )?;
    demand(
        "with a completer beside it, a poll forgets the end, loses a wake-up or leaks a waker",
        move || check_beside_a_completer(register),
    )
}

#[test]
fn exercise_4() {
    exercise(4, || judge(register_and_forget));
}

#[path = "solutions/exchange.rs"]
mod solution;
