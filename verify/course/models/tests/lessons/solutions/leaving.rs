//! The solution of exercise 8, and repairs that are wrong.

use super::*;
use crate::exercise::refused;

// The side that makes the last exchange frees, and neither side waits.

fn send_and_look(channel: Shared) {
    let state = state(channel);
    let mut before = state.swap(TAKING, Ordering::AcqRel);
    if before == RECEIVING {
        // SAFETY: the channel exists until one side has freed it.
        unsafe { &(*channel).waker }.with_mut(|_| ());
        before = state.swap(SENT, Ordering::AcqRel);
    }
    if before == GONE {
        // SAFETY: the receiver has gone.
        unsafe { free(channel) };
    }
}

fn leave_at_once(channel: Shared) {
    let state = state(channel);
    if state.swap(GONE, Ordering::AcqRel) == SENT {
        // SAFETY: the sender has gone.
        unsafe { free(channel) };
    }
}

#[test]
fn exercise_8_is_solved() {
    judge(send_and_look, leave_at_once).unwrap();
}

/// Does not look at what its last exchange returned.
fn send_and_forget(channel: Shared) {
    let state = state(channel);
    if state.swap(TAKING, Ordering::AcqRel) == RECEIVING {
        // SAFETY: the channel exists until one side has freed it.
        unsafe { &(*channel).waker }.with_mut(|_| ());
        state.swap(SENT, Ordering::AcqRel);
    } else {
        // SAFETY: the receiver has gone.
        unsafe { free(channel) };
    }
}

fn leave_after_sent(channel: Shared) {
    let state = state(channel);
    match state.swap(GONE, Ordering::AcqRel) {
        RECEIVING => {}
        TAKING => {
            while state.load(Ordering::Relaxed) != SENT {
                thread::yield_now();
            }
            fence(Ordering::Acquire);
            // SAFETY: the sender has gone.
            unsafe { free(channel) };
        }
        // SAFETY: the sender has gone.
        _ => unsafe { free(channel) },
    }
}

fn leave_relaxed(channel: Shared) {
    if state(channel).swap(GONE, Ordering::Relaxed) == SENT {
        // SAFETY: the sender has gone.
        unsafe { free(channel) };
    }
}

#[test]
fn wrong_repairs_of_exercise_8_are_refused() {
    refused(
        judge(send_and_forget, leave_after_sent),
        "the first part is done",
    );
    refused(judge(send_and_forget, leave_at_once), "nobody frees");
    refused(judge(send_and_look, leave_relaxed), "still uses it");
}
