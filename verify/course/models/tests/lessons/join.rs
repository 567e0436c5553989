//! The type that the lessons build again and again, and the model that each version has to pass.

use std::{sync::Arc, task::Waker};

use lessons::{Counterexample, Wakes, failure_of, model, name_thread, thread};

use crate::exercise::{Verdict, demand};

/// A result on its way from one thread to another.
pub(crate) trait Join: Send + Sync + 'static {
    /// The completer's side, called once: stores the result, and wakes the waiter.
    fn complete(&self, result: u32);

    /// The waiter's side: returns the result. `None` means not yet, and the waker will be woken.
    fn poll(&self, waker: &Waker) -> Option<u32>;
}

/// Makes a join. A model makes one in each execution.
pub(crate) trait New<J>: Fn() -> J + Copy + Send + Sync + 'static {}

impl<J, N: Fn() -> J + Copy + Send + Sync + 'static> New<J> for N {}

/// One completer, and one waiter that polls, and polls again after it is woken.
pub(crate) fn check<J: Join>(new: impl New<J>) {
    name_thread("waiter");
    let join = Arc::new(new());
    let completers = join.clone();
    let completer = thread::spawn(move || {
        name_thread("completer");
        completers.complete(7);
    });
    let wakes = Wakes::new();
    let first = join.poll(&wakes.waker());
    completer.join().unwrap();
    match first {
        Some(result) => assert_eq!(result, 7),
        None => {
            assert_eq!(wakes.count(), 1, "nobody wakes the waiter");
            assert_eq!(join.poll(&wakes.waker()), Some(7));
        }
    }
}

/// Demands that a poll that comes first neither waits nor answers, and wakes nobody.
pub(crate) fn a_poll_returns<J: Join>(new: impl New<J>) -> Verdict {
    demand(
        "a poll must return None if there is no result yet: it must not wait for one",
        move || assert_eq!(new().poll(Waker::noop()), None),
    )?;
    demand(
        "a poll wakes its own waiter, which polls again and again until there is a result",
        move || {
            let (join, wakes) = (new(), Wakes::new());
            join.poll(&wakes.waker());
            assert_eq!(wakes.count(), 0);
        },
    )
}

/// Demands that no waker is left over once the join has been dropped.
pub(crate) fn no_waker_leaks<J: Join>(new: impl New<J>) -> Verdict {
    demand("a waker is never dropped: it leaks", move || {
        let join = Arc::new(new());
        let completers = join.clone();
        let completer = thread::spawn(move || completers.complete(7));
        let wakes = Wakes::new();
        if join.poll(&wakes.waker()).is_none() {
            completer.join().unwrap();
            join.poll(&wakes.waker());
        } else {
            completer.join().unwrap();
        }
        drop(join);
        assert_eq!(wakes.wakers(), 0);
    })
}

/// Demands that the model passes in every order.
pub(crate) fn passes(f: fn()) {
    model(f);
}

/// Demands that the model fails, and returns the execution in which it does.
#[track_caller]
pub(crate) fn fails(f: fn()) -> Box<Counterexample> {
    failure_of(None, f).expect(
        "the model passes. If you have repaired an exercise, run `cargo run -p course -- lesson`, which judges it",
    )
}
