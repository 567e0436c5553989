//! The solution of exercise 2, and repairs that are wrong.

use std::mem;

use super::*;
use crate::exercise::refused;

fn wake_after_the_lock(join: &Locked, result: u32) {
    let mut state = join.state();
    let before = mem::replace(&mut *state, State::Done(result));
    drop(state);
    if let State::Pending(Some(waker)) = before {
        waker.wake();
    }
}

#[test]
fn exercise_2_is_solved() {
    judge(wake_after_the_lock).unwrap();
    judge(Locked::complete).unwrap();
}

fn wake_nobody(join: &Locked, result: u32) {
    *join.state() = State::Done(result);
}

fn wake_before_the_result(join: &Locked, result: u32) {
    let before = mem::replace(&mut *join.state(), State::Pending(None));
    if let State::Pending(Some(waker)) = before {
        waker.wake();
    }
    *join.state() = State::Done(result);
}

fn forget_the_waker(join: &Locked, result: u32) {
    let before = mem::replace(&mut *join.state(), State::Done(result));
    if let State::Pending(Some(waker)) = before {
        waker.wake_by_ref();
        mem::forget(waker);
    }
}

#[test]
fn wrong_repairs_of_exercise_2_are_refused() {
    refused(judge(wake_nobody), "is not woken");
    refused(judge(wake_before_the_result), "comes before the result");
    refused(judge(forget_the_waker), "leaks");
}
