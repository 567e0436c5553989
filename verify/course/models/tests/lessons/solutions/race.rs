//! The solution of exercise 1, and repairs that are wrong.

use lessons::thread;

use super::*;
use crate::exercise::refused;

type Poll = fn(&LookThenRegister, &Waker) -> Option<u32>;

/// A join with another poll.
struct Polled(LookThenRegister, Poll);

impl Join for Polled {
    fn complete(&self, result: u32) {
        self.0.complete(result);
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        (self.1)(&self.0, waker)
    }
}

fn judged(poll: Poll) -> Verdict {
    judge(move || Polled(LookThenRegister::new(), poll))
}

fn look_again(join: &LookThenRegister, waker: &Waker) -> Option<u32> {
    if let Some(result) = join.look() {
        return Some(result);
    }
    join.register(waker);
    join.look()
}

fn register_then_look(join: &LookThenRegister, waker: &Waker) -> Option<u32> {
    join.register(waker);
    join.look()
}

#[test]
fn exercise_1_is_solved() {
    judged(look_again).unwrap();
    judged(register_then_look).unwrap();
}

fn look_twice_then_register(join: &LookThenRegister, waker: &Waker) -> Option<u32> {
    if let Some(result) = join.look().or_else(|| join.look()) {
        return Some(result);
    }
    join.register(waker);
    None
}

fn wait(join: &LookThenRegister, _waker: &Waker) -> Option<u32> {
    loop {
        if let Some(result) = join.look() {
            return Some(result);
        }
        thread::yield_now();
    }
}

fn wake_oneself(join: &LookThenRegister, waker: &Waker) -> Option<u32> {
    let result = join.look();
    if result.is_none() {
        waker.wake_by_ref();
    }
    result
}

#[test]
fn wrong_repairs_of_exercise_1_are_refused() {
    refused(judged(look_twice_then_register), "sleeps forever");
    refused(judged(wait), "must not wait");
    refused(judged(wake_oneself), "wakes its own waiter");
    refused(judged(|_, _| Some(7)), "must return None");
}
