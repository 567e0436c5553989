//! Lesson 3: three states in one word; with a load and a store the race is still there.

use std::{ptr, task::Waker};

use lessons::{
    cell::UnsafeCell,
    sync::atomic::{AtomicPtr, Ordering},
};

use crate::{
    exercise::{Verdict, exercise, the_model},
    join::{Join, a_poll_returns, check, no_waker_leaks},
};

const PENDING: *mut Waker = ptr::null_mut();
const DONE: *mut Waker = ptr::without_provenance_mut(1);

struct LoadThenStore(AtomicPtr<Waker>);

impl LoadThenStore {
    fn complete(&self) -> Option<Box<Waker>> {
        let before = self.0.load(Ordering::Acquire);
        self.0.store(DONE, Ordering::Release);
        // SAFETY: a word that is not a sentinel came out of a box, in `register`.
        (before != PENDING).then(|| unsafe { Box::from_raw(before) })
    }

    fn register(&self, waker: Box<Waker>) -> bool {
        if self.0.load(Ordering::Acquire) == DONE {
            return true;
        }
        self.0.store(Box::into_raw(waker), Ordering::Release);
        false
    }
}

macro_rules! join_by {
    ($name:ident, $word:ident) => {
        struct $name {
            word: $word,
            result: UnsafeCell<u32>,
        }

        // SAFETY: the word says who may use the result. The model shows whether it does.
        unsafe impl Send for $name {}
        // SAFETY: as for `Send`.
        unsafe impl Sync for $name {}

        impl Join for $name {
            fn new() -> Self {
                Self {
                    word: $word(AtomicPtr::new(PENDING).named("word").into()),
                    result: UnsafeCell::new(0).named("result"),
                }
            }

            fn complete(&self, result: u32) {
                // SAFETY: the word does not say DONE yet.
                self.result.with_mut(|place| unsafe { *place = result });
                if let Some(waker) = self.word.complete() {
                    waker.wake();
                }
            }

            fn poll(&self, waker: &Waker) -> Option<u32> {
                let done = self.word.register(Box::new(waker.clone()));
                // SAFETY: the word says DONE.
                done.then(|| self.result.with(|place| unsafe { *place }))
            }
        }
    };
}

join_by!(ByLoadAndStore, LoadThenStore);

fn judge<J: Join>() -> Verdict {
    a_poll_returns::<J>()?;
    the_model(
        "the waiter sleeps forever: a store has overwritten what the other side stored after the load",
        |failure| failure.message().contains("nobody wakes the waiter"),
        check::<J>,
    )?;
    no_waker_leaks::<J>()
}

pub(crate) fn load_and_store() {
    check::<ByLoadAndStore>();
}

#[test]
fn exercise_3() {
    exercise(3, judge::<ByLoadAndStore>);
}

#[path = "solutions/sentinels.rs"]
mod solution;
