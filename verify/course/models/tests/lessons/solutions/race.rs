//! The solution of exercise 1, and repairs that are wrong.

use lessons::thread;

use super::*;
use crate::exercise::refused;

struct LookAgain(LookThenRegister);

impl Join for LookAgain {
    fn new() -> Self {
        Self(LookThenRegister::new())
    }

    fn complete(&self, result: u32) {
        self.0.complete(result);
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        if let Some(result) = self.0.look() {
            return Some(result);
        }
        self.0.register(waker);
        self.0.look()
    }
}

#[test]
fn exercise_1_is_solved() {
    judge::<LookAgain>().unwrap();
}

/// Makes a join with another poll.
macro_rules! poll {
    ($name:ident, $poll:expr) => {
        struct $name(LookThenRegister);

        impl Join for $name {
            fn new() -> Self {
                Self(LookThenRegister::new())
            }

            fn complete(&self, result: u32) {
                self.0.complete(result);
            }

            fn poll(&self, waker: &Waker) -> Option<u32> {
                let poll: fn(&LookThenRegister, &Waker) -> Option<u32> = $poll;
                poll(&self.0, waker)
            }
        }
    };
}

poll!(RegisterThenLook, |join, waker| {
    join.register(waker);
    join.look()
});

#[test]
fn to_look_only_after_the_waker_is_left_solves_exercise_1_too() {
    judge::<RegisterThenLook>().unwrap();
}

poll!(LookTwiceThenRegister, |join, waker| {
    if let Some(result) = join.look().or_else(|| join.look()) {
        return Some(result);
    }
    join.register(waker);
    None
});

poll!(Wait, |join, _waker| {
    loop {
        if let Some(result) = join.look() {
            return Some(result);
        }
        thread::yield_now();
    }
});

poll!(WakeOneself, |join, waker| {
    let result = join.look();
    if result.is_none() {
        waker.wake_by_ref();
    }
    result
});

poll!(AnswerAtOnce, |_join, _waker| Some(7));

#[test]
fn wrong_repairs_of_exercise_1_are_refused() {
    refused(judge::<LookTwiceThenRegister>(), "sleeps forever");
    refused(judge::<Wait>(), "must not wait");
    refused(judge::<WakeOneself>(), "wakes its own waiter");
    refused(judge::<AnswerAtOnce>(), "must return None");
}
