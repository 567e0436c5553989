//! Cancelling a task, by dropping the handle or through it, against everything else that can
//! happen.

use std::sync::Mutex;

use joint::JoinHandle;

use super::{
    race::{
        Act::{Abort, DropHandle, DropWaker, Run, Wake},
        Ends::{AtOnce, Later, Never},
        has_output, race,
    },
    world::{By, Kept, Schedule, explore, waker_of},
};
use crate::prelude::*;

/// A task that cancels itself, by its own handle and while it is polled, ends in that run, whatever
/// other threads do with its wakers, and though it may have woken itself as well.
fn cancelled_in_its_own_poll(how: Schedule, [aborts, yields]: [bool; 2], other: fn(Kept<Waker>)) {
    explore(move |world| {
        let place = Arc::new(Mutex::new(None::<Kept<JoinHandle<Value>>>));
        let own = place.clone();
        let future = poll_fn(move |cx| {
            if yields {
                cx.waker().wake_by_ref();
            }
            let handle = own.lock().unwrap().take().expect("polled once");
            if aborts {
                handle.abort();
                *own.lock().unwrap() = Some(handle);
            }
            Poll::Pending
        });
        let (runnable, handle) = world.spawn(how, future);
        let waker = waker_of(&runnable);
        *place.lock().unwrap() = Some(handle);
        let other = world.start(move || other(waker));
        assert!(!runnable.take().run(), "scheduled again");
        world.drain();
        other.join().unwrap();
        if let Some(handle) = place.lock().unwrap().take() {
            assert!(!has_output(&mut Kept::new(handle.take().result())));
        }
        assert_eq!(world.runs(), 1);
    });
}

fn wake(waker: Kept<Waker>) {
    waker.take().wake();
}

scheduled! {
    drop_of_the_handle_in_its_own_poll_against_wake: |how| cancelled_in_its_own_poll(how, [false, false], wake);
    drop_of_the_handle_in_its_own_poll_against_last_waker: |how| cancelled_in_its_own_poll(how, [false, false], drop);
    abort_in_its_own_poll_against_wake: |how| cancelled_in_its_own_poll(how, [true, false], wake);
    abort_in_its_own_poll_against_last_waker: |how| cancelled_in_its_own_poll(how, [true, false], drop);
    abort_and_yield_in_one_poll_against_wake: |how| cancelled_in_its_own_poll(how, [true, true], wake);
}

races! {
    /// The drop of the future, which the abort causes, sees what happened before the abort.
    abort_against_run: race(Never, &[Run], Abort).runs(0..=1);
    abort_against_completion: race(AtOnce, &[Run], Abort).runs(0..=1);
    abort_against_abort: race(Never, &[Abort], Abort).after(&[Run]).runs(1..=1);
    abort_against_wake: race(Later, &[Wake(By::Value)], Abort).after(&[Run]).runs(1..=2);
    abort_against_wake_against_run:
        race(Never, &[Wake(By::Value), Run], Abort).within(3).runs(0..=2);
    abort_against_the_drop_of_the_handle:
        race(Never, &[Abort], DropHandle).after(&[Run]).within(3).runs(1..=1);
    drop_of_the_handle_against_run: race(Never, &[DropHandle], Run).runs(0..=1);
    drop_of_the_handle_against_completion: race(AtOnce, &[DropHandle], Run).runs(0..=1);
    /// The two agree on one last run of the task, which is idle.
    drop_of_the_handle_against_last_waker:
        race(Never, &[DropWaker], DropHandle).after(&[Run]).runs(1..=1);
    /// The task is idle, and is woken and cancelled at once.
    drop_of_the_handle_against_wake_by_reference:
        race(Later, &[Wake(By::Reference)], DropHandle).after(&[Run]).within(4).runs(1..=2);
    drop_of_the_handle_against_wake_by_value:
        race(Later, &[Wake(By::Value)], DropHandle).after(&[Run]).within(4).runs(1..=2);
    drop_of_the_handle_against_wake_against_run:
        race(Later, &[Wake(By::Value), DropHandle], Run).within(3).runs(0..=2);
    drop_of_the_handle_against_last_waker_against_completion:
        race(AtOnce, &[DropWaker, DropHandle], Run).within(3);
}
