//! Lesson 1: look, then register. In between, the completer can start and finish.

use std::task::Waker;

use lessons::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    exercise::{Verdict, exercise, the_model},
    join::{Join, New, a_poll_returns, check, no_waker_leaks},
};

const NOTHING: usize = 0;

struct LookThenRegister {
    result: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl LookThenRegister {
    fn new() -> Self {
        Self {
            result: AtomicUsize::new(NOTHING).named("result"),
            waker: Mutex::new(None).named("waker"),
        }
    }

    fn look(&self) -> Option<u32> {
        match self.result.load(Ordering::Acquire) {
            NOTHING => None,
            result => Some(result as u32),
        }
    }

    fn register(&self, waker: &Waker) {
        *self.waker.lock().unwrap() = Some(waker.clone());
    }

    fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().unwrap().take()
    }
}

impl Join for LookThenRegister {
    fn complete(&self, result: u32) {
        self.result.store(result as usize, Ordering::Release);
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        if let Some(result) = self.look() {
            return Some(result);
        }
        self.register(waker);
        None
    }
}

fn judge<J: Join>(new: impl New<J>) -> Verdict {
    a_poll_returns(new)?;
    the_model(
        "the waiter sleeps forever: the completer looked for a waker before there was one",
        |failure| failure.message().contains("nobody wakes the waiter"),
        move || check(new),
    )?;
    no_waker_leaks(new)
}

pub(crate) fn the_race() {
    check(LookThenRegister::new);
}

#[test]
fn exercise_1() {
    exercise(1, || judge(LookThenRegister::new));
}

#[path = "solutions/race.rs"]
mod solution;
