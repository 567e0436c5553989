//! The solution of exercise 2, and repairs that are wrong.

use std::mem;

use super::*;
use crate::exercise::refused;

/// Makes a join with another end.
macro_rules! complete {
    ($name:ident, $complete:expr) => {
        struct $name(Locked);

        impl Join for $name {
            fn new() -> Self {
                Self(Locked::new())
            }

            fn complete(&self, result: u32) {
                let complete: fn(&Locked, u32) = $complete;
                complete(&self.0, result);
            }

            fn poll(&self, waker: &Waker) -> Option<u32> {
                self.0.poll(waker)
            }
        }
    };
}

complete!(WakesAfterTheLock, |join, result| {
    let mut state = join.state();
    let before = mem::replace(&mut *state, State::Done(result));
    drop(state);
    if let State::Pending(Some(waker)) = before {
        waker.wake();
    }
});

#[test]
fn exercise_2_is_solved() {
    judge::<WakesAfterTheLock>().unwrap();
    judge::<Locked>().unwrap();
}

complete!(WakesNobody, |join, result| {
    *join.state() = State::Done(result);
});

complete!(WakesBeforeTheResult, |join, result| {
    let before = mem::replace(&mut *join.state(), State::Pending(None));
    if let State::Pending(Some(waker)) = before {
        waker.wake();
    }
    *join.state() = State::Done(result);
});

complete!(WakesOnAnotherThread, |join, result| {
    let before = mem::replace(&mut *join.state(), State::Done(result));
    if let State::Pending(Some(waker)) = before {
        thread::spawn(move || waker.wake());
    }
});

complete!(ForgetsTheWaker, |join, result| {
    let before = mem::replace(&mut *join.state(), State::Done(result));
    if let State::Pending(Some(waker)) = before {
        waker.wake_by_ref();
        mem::forget(waker);
    }
});

#[test]
fn wrong_repairs_of_exercise_2_are_refused() {
    refused(judge::<WakesNobody>(), "is not woken");
    refused(judge::<WakesBeforeTheResult>(), "comes before the result");
    refused(judge::<WakesOnAnotherThread>(), "the poll does not find");
    refused(judge::<ForgetsTheWaker>(), "leaks");
}
