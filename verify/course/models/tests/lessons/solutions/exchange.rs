//! The solution of exercise 4, which is the lesson's own `Word::register`, and repairs that are
//! wrong.

use super::*;
use crate::exercise::refused;

#[test]
fn exercise_4_is_solved() {
    judge(Word::register).unwrap();
}

fn always_done(_word: &Word, waker: Box<Waker>) -> bool {
    drop(waker);
    true
}

/// Looks first, so the completer can come between the look and the exchange.
fn look_first(word: &Word, waker: Box<Waker>) -> bool {
    word.0.load(Ordering::Acquire) == DONE || register_and_forget(word, waker)
}

/// Puts `DONE` back, and leaves its own waker to nobody.
fn restore_only(word: &Word, waker: Box<Waker>) -> bool {
    let done = register_and_forget(word, waker);
    if done {
        word.0.store(DONE, Ordering::Relaxed);
    }
    done
}

#[test]
fn wrong_repairs_of_exercise_4_are_refused() {
    refused(judge(always_done), "must return false");
    refused(judge(register_and_forget), "the end is forgotten");
    refused(judge(look_first), "with a completer beside it");
    refused(judge(restore_only), "with a completer beside it");
}
