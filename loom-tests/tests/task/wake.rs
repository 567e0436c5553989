//! Wakers against a run: the last poll sees what happened before every wake-up, and there is no
//! superfluous poll.

use super::world::{
    By, Flag, Kept, Schedule, all_up, explore, explore_bounded, join_all, join_now, waker_of,
};
use crate::prelude::*;

fn one_wake(how: Schedule, by: By) {
    explore(move |world| {
        let arrived = Flag::new();
        let (runnable, handle) = world.spawn(how, all_up(world, [&arrived]));
        let waker = waker_of(&runnable);
        let other = world.start(move || {
            arrived.raise();
            by.wake(waker);
        });
        world.run_and_drain(runnable);
        other.join().unwrap();
        join_now(handle);
        assert!(world.runs() <= 2);
    });
}

/// Three threads, with at most three preemptions.
fn two_wakes(how: Schedule, by: By) {
    explore_bounded(3, move |world| {
        let (first, second) = (Flag::new(), Flag::new());
        let (runnable, handle) = world.spawn(how, all_up(world, [&first, &second]));
        let others = [first, second].map(|flag| {
            let waker = waker_of(&runnable);
            world.start(move || {
                flag.raise();
                by.wake(waker);
            })
        });
        world.run_and_drain(runnable);
        join_all(others);
        join_now(handle);
        assert!(world.runs() <= 3);
    });
}

/// The first of two wake-ups must not hide the second one's data: one run consumes both.
pub(crate) fn two_wakes_of_one_thread_against_run(how: Schedule) {
    explore_bounded(4, move |world| {
        let (first, second) = (Flag::new(), Flag::new());
        let (runnable, handle) = world.spawn(how, all_up(world, [&first, &second]));
        let waker = waker_of(&runnable);
        let other = world.start(move || {
            first.raise();
            waker.wake_by_ref();
            second.raise();
            waker.take().wake();
        });
        world.run_and_drain(runnable);
        other.join().unwrap();
        join_now(handle);
        assert!(world.runs() <= 3);
    });
}

pub(crate) fn clones_against_run(how: Schedule) {
    explore(move |world| {
        let arrived = Flag::new();
        let (runnable, handle) = world.spawn(how, all_up(world, [&arrived]));
        let waker = waker_of(&runnable);
        let other = world.start(move || {
            let clone = Kept::new(waker.clone());
            drop(waker);
            arrived.raise();
            clone.take().wake();
        });
        world.run_and_drain(runnable);
        other.join().unwrap();
        join_now(handle);
    });
}

pub(crate) fn self_wake_against_wake(how: Schedule) {
    explore_bounded(4, move |world| {
        let arrived = Flag::new();
        let flag = arrived.clone();
        let mut value = Some(world.value());
        let mut polled = false;
        let future = poll_fn(move |cx| {
            if flag.is_up() && polled {
                return Poll::Ready(value.take().expect("polled after it was ready"));
            }
            if !polled {
                polled = true;
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        });
        let (runnable, handle) = world.spawn(how, future);
        let waker = waker_of(&runnable);
        let other = world.start(move || {
            arrived.raise();
            waker.take().wake();
        });
        world.run_and_drain(runnable);
        other.join().unwrap();
        join_now(handle);
        assert!((2..=3).contains(&world.runs()));
    });
}

scheduled! {
    wake_by_reference_against_run: |how| one_wake(how, By::Reference);
    wake_by_value_against_run: |how| one_wake(how, By::Value);
    two_wakes_by_reference_against_run: |how| two_wakes(how, By::Reference);
    two_wakes_by_value_against_run: |how| two_wakes(how, By::Value);
}

tests! {
    two_wakes_of_one_thread_against_run
    clones_against_run
    self_wake_against_wake
}
