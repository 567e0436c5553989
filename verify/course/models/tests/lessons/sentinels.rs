//! Lesson 3: three states in one word; with a load and a store the race is still there.

use std::task::Waker;

use lessons::sync::atomic::Ordering;

use crate::{
    exercise::{Verdict, exercise, the_model},
    join::{a_poll_returns, check, no_waker_leaks},
    word::{Complete, DONE, Guarded, PENDING, Register, Word, take},
};

fn complete(word: &Word) -> Option<Box<Waker>> {
    let before = word.0.load(Ordering::Acquire);
    word.0.store(DONE, Ordering::Release);
    take(before)
}

fn register(word: &Word, waker: Box<Waker>) -> bool {
    if word.0.load(Ordering::Acquire) == DONE {
        return true;
    }
    word.0.store(Box::into_raw(waker), Ordering::Release);
    false
}

fn judge(complete: Complete, register: Register) -> Verdict {
    let new = move || Guarded::new(complete, register);
    a_poll_returns(new)?;
    the_model(
        "the waiter sleeps forever: a store has overwritten what the other side stored after the load",
        |failure| failure.message().contains("nobody wakes the waiter"),
        move || check(new),
    )?;
    no_waker_leaks(new)
}

pub(crate) fn load_and_store() {
    check(|| Guarded::new(complete, register));
}

#[test]
fn exercise_3() {
    exercise(3, || judge(complete, register));
}

#[path = "solutions/sentinels.rs"]
mod solution;
