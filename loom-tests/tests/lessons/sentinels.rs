//! Lesson 3: three states in one word; with a load and a store the race is still there.

use std::{ptr, task::Waker};

use loom_tests::lab::{
    cell::UnsafeCell,
    sync::atomic::{AtomicPtr, Ordering},
};

use crate::join::{Join, check, fails, passes};

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

struct CompareThenStore(AtomicPtr<Waker>);

impl CompareThenStore {
    fn complete(&self) -> Option<Box<Waker>> {
        let mut before = self.0.load(Ordering::Acquire);
        while let Err(newer) =
            (self.0).compare_exchange(before, DONE, Ordering::AcqRel, Ordering::Acquire)
        {
            before = newer;
        }
        // SAFETY: a word that is not a sentinel came out of a box, in `register`, and is ours now.
        (before != PENDING).then(|| unsafe { Box::from_raw(before) })
    }

    fn register(&self, waker: Box<Waker>) -> bool {
        let waker = Box::into_raw(waker);
        let result = (self.0).compare_exchange(PENDING, waker, Ordering::AcqRel, Ordering::Acquire);
        if result.is_err() {
            // SAFETY: it came out of a box just now, and never got into the word.
            drop(unsafe { Box::from_raw(waker) });
        }
        result.is_err()
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
                    word: $word(AtomicPtr::new(PENDING).named("word")),
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
join_by!(ByCompareExchange, CompareThenStore);

#[test]
fn exercise_3_fails() {
    let failure = fails(check::<ByLoadAndStore>);
    assert!(failure.message().contains("nobody wakes the waiter"));
}

#[test]
fn exercise_3_solved() {
    passes(check::<ByCompareExchange>);
}
