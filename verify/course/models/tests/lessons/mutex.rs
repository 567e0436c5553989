//! Lesson 2: the mutex version, and a wake-up under the lock.

use std::{
    sync::{Arc, Weak},
    task::{Wake, Waker},
};

use lessons::{
    name_thread, spawn,
    sync::{Mutex, MutexGuard},
};

use crate::{
    exercise::{Verdict, demand, exercise, the_model},
    join::{Join, New, a_poll_returns, check, no_waker_leaks, passes},
};

enum State {
    Pending(Option<Waker>),
    Done(u32),
}

struct Locked(Mutex<State>);

impl Locked {
    fn new() -> Self {
        Self(Mutex::new(State::Pending(None)).named("state"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Join for Locked {
    fn complete(&self, result: u32) {
        let before = std::mem::replace(&mut *self.state(), State::Done(result));
        if let State::Pending(Some(waker)) = before {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        match &mut *self.state() {
            State::Done(result) => Some(*result),
            State::Pending(registered) => {
                *registered = Some(waker.clone());
                None
            }
        }
    }
}

/// A waker that does the waiter's work itself: it polls.
struct Poller<J>(Weak<J>);

impl<J: Join> Wake for Poller<J> {
    fn wake(self: Arc<Self>) {
        let join = self.0.upgrade().expect("the completer has it");
        assert_eq!(join.poll(Waker::noop()), Some(7));
    }
}

fn check_a_waker_that_polls<J: Join>(new: impl New<J>) {
    let join = Arc::new(new());
    let completers = join.clone();
    name_thread("waiter");
    let completer = spawn("completer", move || completers.complete(7));
    join.poll(&Waker::from(Arc::new(Poller(Arc::downgrade(&join)))));
    completer.join().unwrap();
}

#[test]
fn the_mutex_is_enough() {
    passes(|| check(Locked::new));
}

fn wake_under_the_lock(join: &Locked, result: u32) {
    let mut state = join.state();
    let before = std::mem::replace(&mut *state, State::Done(result));
    if let State::Pending(Some(waker)) = before {
        waker.wake();
    }
}

type Complete = fn(&Locked, u32);

/// A join with another end.
struct Completed(Locked, Complete);

impl Join for Completed {
    fn complete(&self, result: u32) {
        (self.1)(&self.0, result);
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        self.0.poll(waker)
    }
}

fn judge(complete: Complete) -> Verdict {
    let new = move || Completed(Locked::new(), complete);
    a_poll_returns(new)?;
    the_model(
        "the waker polls, and the poll does not find the result: it waits for a lock that its own \
         thread holds, or comes before the result",
        |failure| failure.message().contains("deadlock"),
        move || check_a_waker_that_polls(new),
    )?;
    demand("a waiter that has left its waker is not woken", move || {
        check(new)
    })?;
    no_waker_leaks(new)
}

pub(crate) fn under_the_lock() {
    check_a_waker_that_polls(|| Completed(Locked::new(), wake_under_the_lock));
}

#[test]
fn exercise_2() {
    exercise(2, || judge(wake_under_the_lock));
}

#[path = "solutions/mutex.rs"]
mod solution;
