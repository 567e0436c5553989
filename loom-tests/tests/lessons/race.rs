//! Lesson 1: look, then register. In between, the completer can start and finish.

use std::{sync::PoisonError, task::Waker};

use loom_tests::lab::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use crate::join::{Join, check, fails, passes};

const NOTHING: usize = 0;

struct LookThenRegister {
    result: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl LookThenRegister {
    fn look(&self) -> Option<u32> {
        match self.result.load(Ordering::Acquire) {
            NOTHING => None,
            result => Some(result as u32),
        }
    }

    fn register(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    fn take_waker(&self) -> Option<Waker> {
        self.waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Join for LookThenRegister {
    fn new() -> Self {
        Self {
            result: AtomicUsize::new(NOTHING).named("result"),
            waker: Mutex::new(None).named("waker"),
        }
    }

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

#[test]
fn exercise_1_fails() {
    let failure = fails(check::<LookThenRegister>);
    assert!(failure.message().contains("nobody wakes the waiter"));
}

// The solution.

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
fn exercise_1_solved() {
    passes(check::<LookAgain>);
}
