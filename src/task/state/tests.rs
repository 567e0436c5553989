//! Tests each transition from every value of the word that decides its outcome, including values
//! that only a race can cause.

use super::*;

fn of(word: u64) -> State {
    State(AtomicU64::new(word))
}

fn word(state: &State) -> u64 {
    state.snapshot().0
}

/// The word after a transition, and what must be done then.
fn after<R>(before: u64, transition: impl FnOnce(&State) -> R) -> (R, u64) {
    let state = of(before);
    let outcome = transition(&state);
    (outcome, word(&state))
}

#[test]
fn a_handle_goes_from_a_task_that_has_ended_meanwhile() {
    use OnRelease::{Free, Nothing, Orphan};
    let ended = FINISHED + WAKE;
    for (rest, outcome) in [
        (ended, Free),
        (ended + REF, Nothing),
        (0, Orphan),
        (REF, Nothing),
        (WAKE, Nothing),
        (WAKE + REF, Nothing),
    ] {
        assert_eq!(after(HANDLE + rest, State::detach), (outcome, rest));
    }
}

#[test]
fn a_handle_cancels_a_task_that_has_ended_meanwhile() {
    use OnRelease::{Free, Nothing, Orphan, Schedule};
    let ended = FINISHED + WAKE;
    for (rest, outcome) in [
        (ended, Free),
        (ended + REF, Nothing),
        (0, Schedule),
        (REF, Schedule),
        (WAKE, Nothing),
        (WAKE + REF, Nothing),
    ] {
        let cancelled = rest + CANCELLED + WAKE;
        assert_eq!(after(HANDLE + rest, State::cancel), (outcome, cancelled));
    }
    for (rest, outcome) in [(CANCELLED + ended, Free), (CANCELLED, Orphan)] {
        assert_eq!(after(HANDLE + rest, State::cancel), (outcome, rest));
    }
}

#[test]
fn an_orphan_is_not_aborted_and_all_others_are() {
    use OnWake::{Nothing, Schedule};
    assert_eq!(after(0, State::abort), (Nothing, 0));
    for (before, outcome) in [
        (HANDLE, Schedule),
        (REF, Schedule),
        (WAKE, Nothing),
        (HANDLE + WAKE, Nothing),
    ] {
        let cancelled = before + CANCELLED + WAKE;
        assert_eq!(after(before, State::abort), (outcome, cancelled));
        assert_eq!(after(cancelled, State::abort), (Nothing, cancelled));
    }
}

#[test]
fn a_wake_up_too_many_is_taken_back() {
    let most = wake_limit() * WAKE;
    for (wakes, left) in [
        (most - WAKE, most),
        (most, most),
        (most + WAKE, most + WAKE),
    ] {
        let (outcome, word) = after(HANDLE + wakes, State::wake);
        assert_eq!((outcome, word), (OnWake::Nothing, HANDLE + left));
        let ((), word) = after(HANDLE + wakes, State::add_waker);
        let taken = if wakes < most { 0 } else { WAKE };
        assert_eq!(
            word,
            HANDLE + wakes + REF - taken,
            "for the new waker's own"
        );
    }
    // Another thread has taken it back meanwhile.
    let ((), word) = after(most - WAKE, State::take_wake_back);
    assert_eq!(word, most - WAKE);
}

#[test]
fn of_very_many_wake_ups_a_run_consumes_a_part() {
    let many = wake_limit() / 2;
    for wakes in [many, many + 1, wake_limit()] {
        let before = HANDLE + wakes * WAKE;
        let (outcome, word) = after(before, |state| state.idle(state.run()));
        let part = wake_limit() / 4 * WAKE;
        assert_eq!((outcome, word), (OnIdle::Reschedule, before - part));
    }
    let before = HANDLE + (many - 1) * WAKE;
    let (outcome, word) = after(before, |state| state.idle(state.run()));
    assert_eq!((outcome, word), (OnIdle::Leave, HANDLE));
}

#[test]
fn wakers_are_counted_up_to_the_limit() {
    let most = (ref_limit() - 1) * REF;
    let ((), word) = after(HANDLE + WAKE + most, State::add_waker);
    assert_eq!(word, HANDLE + WAKE + most + REF);
}
