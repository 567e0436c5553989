//! The solution of exercise 11, and repairs that are wrong.

use super::*;
use crate::exercise::refused;

// The side that makes the last exchange frees. To cancel is only a wish.

fn answer_and_look(operation: Shared) {
    let state = state(operation);
    if state.swap(DONE, Ordering::AcqRel) == LEFT {
        // SAFETY: the future has left, and the kernel has answered.
        unsafe { free(operation) };
    }
}

fn leave_at_once(operation: Shared, ring: &Ring) {
    ring.cancel();
    let state = state(operation);
    if state.swap(LEFT, Ordering::AcqRel) == DONE {
        // SAFETY: the driver has given the answer.
        unsafe { free(operation) };
    }
}

#[test]
fn exercise_11_is_solved() {
    judge(answer_and_look, leave_at_once).unwrap();
}

fn leave_after_the_answer(operation: Shared, ring: &Ring) {
    ring.cancel();
    let state = state(operation);
    while state.load(Ordering::Acquire) != DONE {
        thread::yield_now();
    }
    // SAFETY: the driver has given the answer.
    unsafe { free(operation) };
}

fn leave_relaxed(operation: Shared, ring: &Ring) {
    ring.cancel();
    if state(operation).swap(LEFT, Ordering::Relaxed) == DONE {
        // SAFETY: none, which the model shows.
        unsafe { free(operation) };
    }
}

#[test]
fn wrong_repairs_of_exercise_11_are_refused() {
    refused(judge(answer, leave_after_the_answer), "must not wait");
    refused(judge(answer, leave_at_once), "nobody frees");
    refused(judge(answer_and_look, leave_relaxed), "still uses it");
}
