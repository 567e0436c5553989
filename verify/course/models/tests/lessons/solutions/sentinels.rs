//! The solution of exercise 3, and repairs that are wrong.

use lessons::thread;

use super::*;
use crate::exercise::refused;

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

join_by!(ByCompareExchange, CompareThenStore);

#[test]
fn exercise_3_is_solved() {
    judge::<ByCompareExchange>().unwrap();
}

impl From<AtomicPtr<Waker>> for CompareThenStore {
    fn from(word: AtomicPtr<Waker>) -> Self {
        Self(word)
    }
}

/// Makes a word whose sides differ from the solution in one of two functions.
macro_rules! wrong {
    ($join:ident, $word:ident, complete: $complete:expr, register: $register:expr) => {
        struct $word(CompareThenStore);

        impl $word {
            fn complete(&self) -> Option<Box<Waker>> {
                let complete: fn(&CompareThenStore) -> Option<Box<Waker>> = $complete;
                complete(&self.0)
            }

            fn register(&self, waker: Box<Waker>) -> bool {
                let register: fn(&CompareThenStore, Box<Waker>) -> bool = $register;
                register(&self.0, waker)
            }
        }

        join_by!($join, $word);
    };
}

wrong!(
    ByOneSide,
    OnlyTheWaiterCompares,
    complete: |word| {
        let before = word.0.load(Ordering::Acquire);
        word.0.store(DONE, Ordering::Release);
        // SAFETY: a word that is not a sentinel came out of a box, in `register`.
        (before != PENDING).then(|| unsafe { Box::from_raw(before) })
    },
    register: CompareThenStore::register
);

wrong!(
    ByOneTry,
    TheCompleterTriesOnce,
    complete: |word| {
        let before = word.0.load(Ordering::Acquire);
        let done = word.0.compare_exchange(before, DONE, Ordering::AcqRel, Ordering::Acquire);
        // SAFETY: a word that is not a sentinel came out of a box, in `register`, and is ours now.
        (done.is_ok() && before != PENDING).then(|| unsafe { Box::from_raw(before) })
    },
    register: CompareThenStore::register
);

wrong!(
    ByForgetting,
    TheWaiterForgetsItsBox,
    complete: CompareThenStore::complete,
    register: |word, waker| {
        let waker = Box::into_raw(waker);
        let done = word.0.compare_exchange(PENDING, waker, Ordering::AcqRel, Ordering::Acquire);
        done.is_err()
    }
);

wrong!(
    ByWaiting,
    TheWaiterWaits,
    complete: CompareThenStore::complete,
    register: |word, _waker| {
        while word.0.load(Ordering::Acquire) != DONE {
            thread::yield_now();
        }
        true
    }
);

#[test]
fn wrong_repairs_of_exercise_3_are_refused() {
    refused(judge::<ByOneSide>(), "has overwritten");
    refused(judge::<ByOneTry>(), "has overwritten");
    refused(judge::<ByForgetting>(), "leaks");
    refused(judge::<ByWaiting>(), "must not wait");
}
