//! Lesson 4: each side exchanges once.

use std::{sync::Arc, task::Waker};

use lessons::{Wakes, name_thread, spawn, sync::atomic::Ordering};

use crate::{
    exercise::{Verdict, demand, exercise, the_model},
    join::{Join, check, passes},
    word::{DONE, Guarded, Register, Word, take},
};

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

fn guarded(register: Register) -> Guarded {
    Guarded::new(Word::complete, register)
}

#[test]
fn one_exchange_on_each_side_is_enough() {
    passes(|| check(|| guarded(Word::register)));
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

fn check_that_an_end_stays(register: Register) {
    let join = guarded(register);
    join.complete(7);
    assert_eq!(join.poll(Waker::noop()), Some(7));
    assert_eq!(join.poll(Waker::noop()), Some(7), "the end is forgotten");
}

/// The same, beside a completer, and with a waker that is counted.
fn check_beside_a_completer(register: Register) {
    let join = Arc::new(guarded(register));
    let completers = join.clone();
    name_thread("waiter");
    let completer = spawn("completer", move || completers.complete(7));
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
        move || assert_eq!(guarded(register).poll(Waker::noop()), None),
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
