//! Models of variables: a change, or the end, in a thread of its own against a waiter.

use joint_flow::{Closed, variable::AsyncVar};
use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

/// Cell: variable: wakes on change only, but on each: a waiter that saw the old value is woken.
#[test]
fn a_change_is_seen_or_awaited() {
    model(|| {
        let variable = Arc::new(AsyncVar::new(0));
        let writer = start(&variable, move |variable| assert!(variable.set(1)));
        let wakes = Wakes::new();
        let mut changed = variable.on_change();
        if variable.get() == 0 {
            let was_pending = poll(&mut changed, &wakes).is_pending();
            writer.join().unwrap();
            assert_eq!(wakes.count(), usize::from(was_pending));
            assert_eq!(poll(&mut changed, &wakes), Poll::Ready(Ok(())));
        } else {
            writer.join().unwrap();
        }
        assert_eq!((variable.get(), wakes.wakers()), (1, 0));
    });
}

/// Cell: variable: who waits again gets the next change: of two changes the last one is not missed.
#[test]
fn the_last_change_is_not_missed() {
    model_bounded(3, || {
        let variable = Arc::new(AsyncVar::new(0));
        let writer = start(&variable, move |variable| {
            variable.set(1);
            variable.set(2);
        });
        let wakes = Wakes::new();
        let mut waits = Vec::new();
        let mut seen = None;
        // Two looks, as a loop makes them. Whatever is the last one, it has asked before it looked.
        for _ in 0..2 {
            let mut changed = variable.on_change();
            seen = Some(variable.get());
            let _ = poll(&mut changed, &wakes);
            waits.push(changed);
        }
        writer.join().unwrap();
        if seen != Some(2) {
            assert!(waits.pop().unwrap().is_finished());
        }
        assert_eq!(variable.get(), 2);
    });
}

/// Cell: variable: a dropped variable breaks its promise.
#[test]
fn the_end_of_a_variable_reaches_its_waiter() {
    model(|| {
        let variable = AsyncVar::new(0);
        let wakes = Wakes::new();
        let mut changed = variable.on_change();
        let owner = thread::spawn(move || drop(variable));
        let polled = poll(&mut changed, &wakes);
        owner.join().unwrap();
        assert_eq!(wakes.count(), usize::from(polled.is_pending()));
        assert_eq!(poll(&mut changed, &wakes), Poll::Ready(Err(Closed)));
        assert_eq!(wakes.wakers(), 0);
    });
}

/// Cell: variable: a change in place is one step. Two threads count up, and a waiter sees the sum.
#[test]
fn two_changes_in_place_against_a_waiter_for_both() {
    model_bounded(3, || {
        let variable = Arc::new(AsyncVar::new(0));
        let writers = [(); 2].map(|()| {
            let variable = variable.clone();
            thread::spawn(move || variable.modify(|value| *value += 1))
        });
        let wakes = Wakes::new();
        let waker = wakes.waker();
        let mut cx = Context::from_waker(&waker);
        let mut both = pin!(variable.wait_for(|value| *value == 2));
        let polled = both.as_mut().poll(&mut cx);
        join_all(writers);
        if polled.is_pending() {
            assert_eq!(wakes.count(), 1, "a change is missed");
            assert_eq!(both.as_mut().poll(&mut cx), Poll::Ready(2));
        }
    });
}
